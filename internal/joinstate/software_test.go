// SPDX-License-Identifier: Apache-2.0

package joinstate

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
)

func TestSaveAndLoadSoftware(t *testing.T) {
	dir := t.TempDir()
	if got, err := LoadSoftware(dir); got != nil || err != nil {
		t.Errorf("LoadSoftware() = %v, %v without a file", got, err)
	}
	want := software.Contents{
		Image:    "registry.example.com/os@sha256:0",
		Release:  software.Release{Major: 4, Minor: 19},
		RHEL:     "9.6",
		Packages: map[string]string{"cri-o": "1.32.4-1.el9"},
	}
	if err := SaveSoftware(dir, want); err != nil {
		t.Fatal(err)
	}
	got, err := LoadSoftware(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, *got); diff != "" {
		t.Error(diff)
	}
}
