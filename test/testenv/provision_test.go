// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPresetUnits(t *testing.T) {
	got := presetUnits("# Comment\nenable echo@.service foo bar\ndisable kubens.service\n\nenable a.target\n")
	want := []string{"echo@foo.service", "echo@bar.service", "kubens.service", "a.target"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
