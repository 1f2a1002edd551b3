package ledger

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// In a directory shared with administrators, an undo removes empty directories, and keeps
// and reports files.
func TestUndoKeepsFilesInSharedDirectories(t *testing.T) {
	root := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(root, "cni/net.d"), 0o755)) //nolint:gosec // as on a host
	before := listTree(t, root)
	l := open(t, t.TempDir(), root)
	there := State{Present: true}
	if _, err := l.TrackExternal(t.Context(), "files",
		Change{Kind: SharedContents, Target: "/cni", Desired: there}, Change{Kind: SharedContents, Target: "/new", Desired: there}, Change{Kind: Contents, Target: "/cni/multus", Desired: there},
	); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"cni/multus/net.d", "cni/whereabouts.d", "new/deep/empty"} {
		must(t, os.MkdirAll(filepath.Join(root, dir), 0o755)) //nolint:gosec // as on a host
	}
	for _, file := range []string{"cni/multus/net.d/00-multus.conf", "cni/net.d/podman.conflist"} {
		must(t, os.WriteFile(filepath.Join(root, file), nil, 0o600))
	}
	outcome, err := l.Undo(t.Context())
	if err != nil || len(outcome.Kept) > 0 {
		t.Fatalf("kept %v, %v", outcome.Kept, err)
	}
	want := slices.Concat(before, []string{`/cni/net.d/podman.conflist -rw------- ""`})
	if diff := cmp.Diff(want, listTree(t, root)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, item := range outcome.Restored {
		if item.Target != "/cni" || item.Kind != SharedContents {
			continue
		}
		left, err := l.drivers[SharedContents].(SharedDirSnapshot).Added(item)
		if diff := cmp.Diff([]string{"/cni/net.d/podman.conflist"}, left); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
}
