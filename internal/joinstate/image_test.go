// SPDX-License-Identifier: Apache-2.0

package joinstate

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/rhcos"
)

// The drop-in of kubelet names the file by its path.
func TestHoldKubelet(t *testing.T) {
	if got := filepath.Join(Dir, HoldFile); got != rhcos.HoldKubeletPath {
		t.Errorf("the agent holds kubelet with %s, and the drop-in checks %s", got, rhcos.HoldKubeletPath)
	}
	dir := t.TempDir()
	if err := HoldKubelet(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, HoldFile)); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := ReleaseKubelet(dir); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, HoldFile)); !os.IsNotExist(err) {
		t.Errorf("kubelet is still held: %v", err)
	}
}

func TestHasRebooted(t *testing.T) {
	for name, test := range map[string]struct {
		update *ImageUpdate
		want   bool
	}{
		"no update":         {},
		"not rebooted yet":  {update: &ImageUpdate{Digest: "sha256:1"}},
		"the same boot":     {update: &ImageUpdate{Digest: "sha256:1", RebootedFrom: "now"}},
		"the next boot":     {update: &ImageUpdate{Digest: "sha256:1", RebootedFrom: "before"}, want: true},
		"for another image": {update: &ImageUpdate{Digest: "sha256:2", RebootedFrom: "before"}},
	} {
		if got := test.update.HasRebooted("sha256:1", "now"); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
