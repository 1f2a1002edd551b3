// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"testing"
)

func TestLastWord(t *testing.T) {
	for text, want := range map[string]string{"Kubernetes v1.31.4\n": "v1.31.4", "": "", " \n": ""} {
		if got := lastWord(text); got != want {
			t.Errorf("lastWord(%q) = %q", text, got)
		}
	}
}
