// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/test/mountns"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// open opens a ledger for root, with the drivers of paths and directory snapshots.
func open(t *testing.T, root string) *ledger.Ledger {
	t.Helper()
	tree, err := hostfs.OpenTree(root)
	must(t, err)
	contents := &DirSnapshot{Tree: tree}
	l, err := ledger.Open(t.TempDir(), ledger.Drivers{
		Paths: &ledger.Paths{Tree: tree},
		Snapshots: map[ledger.Kind]ledger.SnapshotDriver{
			ledger.Contents: contents, ledger.SharedContents: SharedDirSnapshot{DirSnapshot: contents},
		},
	})
	must(t, err)
	t.Cleanup(func() { l.Close(); tree.Close() })
	return l
}

// track records snapshots of directories.
func track(t *testing.T, l *ledger.Ledger, kind ledger.Kind, dirs ...string) func() error {
	t.Helper()
	var changes []ledger.Change
	for _, dir := range dirs {
		changes = append(changes, ledger.Change{Kind: kind, Target: dir, Desired: ledger.State{Present: true}})
	}
	finish, err := l.TrackExternal(t.Context(), "files", changes...)
	must(t, err)
	return finish
}

// listTree returns one line for each path below root: its name, type and mode.
func listTree(t *testing.T, root string) []string {
	t.Helper()
	var lines []string
	must(t, filepath.WalkDir(root, func(p string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Lstat(p)
		if err == nil {
			lines = append(lines, fmt.Sprintf("%s %s", strings.TrimPrefix(p, root), info.Mode()))
		}
		return err
	}))
	return lines
}

// put creates a directory for a name that ends with a slash, else an empty file in a new directory.
func put(t *testing.T, root string, names ...string) {
	t.Helper()
	for _, name := range names {
		must(t, os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o755)) //nolint:gosec // as on a host
		if !strings.HasSuffix(name, "/") {
			must(t, os.WriteFile(filepath.Join(root, name), nil, 0o600))
		}
	}
}

func TestUndoRemovesAddedContents(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	put(t, root, "lib/old/")
	put(t, outside, "precious")
	before := listTree(t, root)
	l := open(t, root)
	finish := track(t, l, ledger.Contents, "/lib")
	put(t, root, "lib/pods/a/")
	must(t, os.Symlink(outside, filepath.Join(root, "lib/pods/a/escape")))
	must(t, finish())
	_, err := l.Undo(t.Context())
	must(t, err)
	if diff := cmp.Diff(before, listTree(t, root)); diff != "" {
		t.Errorf("after undo (-want +got):\n%s", diff)
	}
	if _, err := os.Stat(filepath.Join(outside, "precious")); err != nil {
		t.Errorf("a file outside was touched: %v", err)
	}
}

func TestUndoKeepsDirectoriesWithForeignFiles(t *testing.T) {
	root := t.TempDir()
	before := listTree(t, root)
	l := open(t, root)
	track(t, l, ledger.Contents, "/lib")
	file := ledger.FileState(nil, 0o600)
	uid, gid := os.Geteuid(), os.Getegid()
	file.UID, file.GID = &uid, &gid
	_, err := l.Apply(t.Context(), "files", []ledger.Change{
		{Kind: ledger.File, Target: "/lib/kubelet/config", Desired: file},
		{Kind: ledger.File, Target: "/etc/ours", Desired: file},
	})
	must(t, err)
	put(t, root, "lib/kubelet/cache", "etc/theirs")
	outcome, err := l.Undo(t.Context())
	if err != nil || len(outcome.Kept) != 1 || outcome.Kept[0].Target != "/etc" {
		t.Fatalf("kept %v, %v", outcome.Kept, err)
	}
	want := append(slices.Clone(before), "/etc drwxr-xr-x", "/etc/theirs -rw-------")
	if diff := cmp.Diff(want, listTree(t, root)); diff != "" {
		t.Errorf("after undo (-want +got):\n%s", diff)
	}
	must(t, l.Remove())
}

// An undo removes nothing below a directory while a volume is mounted in it. The test runs
// in a separate mount namespace, which ends with it.
func TestUndoStopsAtMountPoint(t *testing.T) {
	if !mountns.Isolate(t) {
		return
	}
	root, precious := t.TempDir(), t.TempDir()
	before := listTree(t, root)
	must(t, os.WriteFile(filepath.Join(precious, "data"), []byte("theirs"), 0o600))
	l := open(t, root)
	track(t, l, ledger.Contents, "/lib")
	put(t, root, "lib/pods/volume/")
	volume := filepath.Join(root, "lib/pods/volume")
	// A bind mount of the same file system, as a local volume is: the device number is the
	// same.
	must(t, unix.Mount(precious, volume, "", unix.MS_BIND, ""))
	mounted := listTree(t, root)
	_, err := l.Undo(t.Context())
	if err == nil || !strings.Contains(err.Error(), "umount "+volume) {
		t.Errorf("undo with a mount: %v", err)
	}
	if diff := cmp.Diff(mounted, listTree(t, root)); diff != "" {
		t.Errorf("an undo that failed removed something:\n%s", diff)
	}
	must(t, hostfs.Unmount(volume))
	if _, err := l.Undo(t.Context()); err != nil {
		t.Errorf("undo after the mount is gone: %v", err)
	}
	if diff := cmp.Diff(before, listTree(t, root)); diff != "" {
		t.Errorf("after undo (-want +got):\n%s", diff)
	}
	if content, err := os.ReadFile(filepath.Join(precious, "data")); err != nil || string(content) != "theirs" {
		t.Errorf("what was mounted: %q, %v", content, err)
	}
}

// In a directory shared with administrators, an undo removes empty directories, and keeps
// and reports files.
func TestUndoKeepsFilesInSharedDirectories(t *testing.T) {
	root := t.TempDir()
	put(t, root, "cni/net.d/")
	before := listTree(t, root)
	l := open(t, root)
	track(t, l, ledger.SharedContents, "/cni", "/new")
	track(t, l, ledger.Contents, "/cni/multus")
	put(t, root, "cni/multus/net.d/", "cni/whereabouts.d/", "new/deep/empty/")
	put(t, root, "cni/multus/net.d/00-multus.conf", "cni/net.d/podman.conflist")
	outcome, err := l.Undo(t.Context())
	if err != nil || len(outcome.Kept) > 0 {
		t.Fatalf("kept %v, %v", outcome.Kept, err)
	}
	want := append(slices.Clone(before), "/cni/net.d/podman.conflist -rw-------")
	if diff := cmp.Diff(want, listTree(t, root)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	tree, err := hostfs.OpenTree(root)
	must(t, err)
	defer tree.Close()
	for _, item := range outcome.Restored {
		if item.Target != "/cni" {
			continue
		}
		left, err := (&DirSnapshot{Tree: tree}).Added(item.Change, item.Before)
		if diff := cmp.Diff([]string{"/cni/net.d/podman.conflist"}, left); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
}
