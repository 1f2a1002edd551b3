// SPDX-License-Identifier: Apache-2.0

package leave

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/selinux"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
)

func TestPreviewListsChangesNewestFirst(t *testing.T) {
	stateDir, dir := t.TempDir(), t.TempDir()
	added, replaced := filepath.Join(dir, "added"), filepath.Join(dir, "replaced")
	write := func(path, content string) {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(replaced, "of the administrator")
	tree, err := hostfs.OpenTree("/")
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	l, err := ledger.Open(stateDir, ledger.Drivers{Paths: &ledger.Paths{Tree: tree, SELinux: selinux.Policy{Tree: tree}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{replaced, added} {
		change := ledger.Change{Kind: ledger.File, Target: path, Desired: ledger.FileState([]byte("of the payload"), 0o600)}
		if _, err := l.Apply(t.Context(), "files", []ledger.Change{change}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	write(added, "edited since")

	preview, err := Preview(t.Context(), Options{Options: request.Options{StateDir: stateDir}})
	if err != nil {
		t.Fatal(err)
	}
	want := []Change{
		{Kind: ledger.File, Target: added, Step: "files", Action: Remove},
		{Kind: ledger.File, Target: replaced, Step: "files", Action: Restore},
	}
	if diff := cmp.Diff(want, preview.Changes); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if len(preview.Drift) != 1 || preview.Drift[0].Target != added {
		t.Errorf("drift %+v, want %s", preview.Drift, added)
	}
	if content, err := os.ReadFile(replaced); err != nil || string(content) != "of the payload" {
		t.Errorf("%s was changed: %q, %v", replaced, content, err)
	}
}
