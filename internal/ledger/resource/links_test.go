// SPDX-License-Identifier: Apache-2.0

package resource_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kubelet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger/resource"
	"github.com/hcp-node-agent/hcp-node-agent/test/mountns"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// write writes files with their own paths as content.
func write(t *testing.T, files ...string) {
	t.Helper()
	for _, file := range files {
		must(t, os.MkdirAll(filepath.Dir(file), 0o700))
		must(t, os.WriteFile(file, []byte(file), 0o600))
	}
}

func bind(t *testing.T, from, to string) {
	t.Helper()
	must(t, unix.Mount(from, to, "", unix.MS_BIND, ""))
	t.Cleanup(func() { _ = unix.Unmount(to, unix.MNT_DETACH) }) // before the directory is removed
}

const kubeletDir = "/var/lib/kubelet"

// layouts create kubelet's directory, with symbolic links at each level, before the join. Each returns the real
// path of the directory.
var layouts = map[string]func(t *testing.T, root string) string{
	"directory": func(t *testing.T, root string) string {
		dir := filepath.Join(root, kubeletDir)
		must(t, os.MkdirAll(dir, 0o700))
		return dir
	},
	"link": func(t *testing.T, root string) string {
		dir := filepath.Join(root, "data/kubelet")
		must(t, os.MkdirAll(dir, 0o700))
		must(t, os.MkdirAll(filepath.Join(root, "var/lib"), 0o700))
		must(t, os.Symlink("/data/kubelet", filepath.Join(root, kubeletDir)))
		return dir
	},
	"chain of links": func(t *testing.T, root string) string {
		dir := filepath.Join(root, "data/kubelet")
		must(t, os.MkdirAll(dir, 0o700))
		must(t, os.MkdirAll(filepath.Join(root, "var/lib"), 0o700))
		must(t, os.Symlink("data", filepath.Join(root, "disk")))
		must(t, os.Symlink("../../disk/kubelet", filepath.Join(root, kubeletDir)))
		return dir
	},
	"parent is a link": func(t *testing.T, root string) string {
		dir := filepath.Join(root, "data/lib/kubelet")
		must(t, os.MkdirAll(dir, 0o700))
		must(t, os.MkdirAll(filepath.Join(root, "var"), 0o700))
		must(t, os.Symlink("/data/lib", filepath.Join(root, "var/lib")))
		return dir
	},
	"top directory is a link": func(t *testing.T, root string) string {
		dir := filepath.Join(root, "data/var/lib/kubelet")
		must(t, os.MkdirAll(dir, 0o700))
		must(t, os.Symlink("data/var", filepath.Join(root, "var")))
		return dir
	},
	"bind mount": func(t *testing.T, root string) string {
		dir := filepath.Join(root, kubeletDir)
		must(t, os.MkdirAll(dir, 0o700))
		must(t, os.MkdirAll(filepath.Join(root, "data/kubelet"), 0o700))
		bind(t, filepath.Join(root, "data/kubelet"), dir)
		return dir
	},
}

// An undo deletes no file of a volume, and removes the credentials of the node, wherever links lead to kubelet's
// directory. The test runs in a mount namespace of its own.
func TestLinkedDirectoriesKeepVolumes(t *testing.T) {
	if !mountns.Isolate(t) {
		return
	}
	for name, layout := range layouts {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			dir := layout(t, root)
			tree, err := hostfs.OpenTree(root)
			must(t, err)
			defer tree.Close()
			l := trackContents(t, tree, kubeletDir)

			// kubelet mounts volumes and subPaths of the same file system, and single files of them.
			volume, key := filepath.Join(root, "local-volumes/pv-1"), filepath.Join(dir, "pki/kubelet-client-current.pem")
			data := []string{filepath.Join(volume, "database.db"), filepath.Join(volume, "sub/deep/file")}
			write(t, append(data, key)...)
			pod := filepath.Join(dir, "pods/1234")
			whole, sub := filepath.Join(pod, "volumes/kubernetes.io~local-volume/pv-1"),
				filepath.Join(pod, "volume-subpaths/pv-1/c/0")
			file := filepath.Join(pod, "volume-subpaths/pv-1/c/1")
			global := filepath.Join(dir, "plugins/kubernetes.io/local/pv-1")
			for _, point := range []string{whole, sub, global} {
				must(t, os.MkdirAll(point, 0o700))
			}
			write(t, file)
			bind(t, volume, whole)
			bind(t, filepath.Join(volume, "sub"), sub)
			bind(t, data[0], file)
			bind(t, volume, global)

			// Something that is still mounted keeps everything.
			if _, err := l.Undo(t.Context()); err == nil || !strings.Contains(err.Error(), "umount "+dir) {
				t.Errorf("undo with mounts: %v", err)
			}
			checkExist(t, append(data, key)...)
			points, err := kubelet.Unmount(t.Context(), tree, kubeletDir)
			slices.Sort(points)
			want := []string{global, file, sub, whole}
			slices.Sort(want)
			if err != nil || !slices.Equal(points, want) {
				t.Errorf("unmounted %q, want %q, %v", points, want, err)
			}
			_, err = l.Undo(t.Context())
			must(t, err)
			checkExist(t, data...)
			if names, err := os.ReadDir(dir); err != nil || len(names) > 0 {
				t.Errorf("after the undo: %v, %v", names, err)
			}
		})
	}
}

// Links of pods are never followed.
func TestUndoFollowsNoLinksOfPods(t *testing.T) {
	root := t.TempDir()
	dir := layouts["link"](t, root)
	tree, err := hostfs.OpenTree(root)
	must(t, err)
	defer tree.Close()
	l := trackContents(t, tree, kubeletDir)
	data := filepath.Join(root, "home/user/file")
	write(t, data, filepath.Join(dir, "pods/1/volumes/kubernetes.io~empty-dir/a/x"))
	must(t, os.Symlink("/home", filepath.Join(dir, "pods/1/volumes/kubernetes.io~empty-dir/a/home")))
	_, err = l.Undo(t.Context())
	must(t, err)
	checkExist(t, data)
	if names, err := os.ReadDir(dir); err != nil || len(names) > 0 {
		t.Errorf("after the undo: %v, %v", names, err)
	}
}

// What a directory contains that became kubelet's after the join is not known.
func TestUndoKeepsDirectoryThatBecameALink(t *testing.T) {
	for name, before := range map[string]func(t *testing.T, dir string){
		"missing before the join":         func(*testing.T, string) {},
		"a directory before the join":     func(t *testing.T, dir string) { must(t, os.Mkdir(dir, 0o700)) },
		"a dangling link before the join": func(t *testing.T, dir string) { must(t, os.Symlink("/data/disk", dir)) },
		"a link elsewhere before the join": func(t *testing.T, dir string) {
			write(t, filepath.Join(filepath.Dir(dir), "etc/file"))
			must(t, os.Symlink("/etc", dir))
		},
		"a link to a file before the join": func(t *testing.T, dir string) { must(t, os.Symlink("/file", dir)) },
		"a regular file before the join":   func(t *testing.T, dir string) { write(t, dir) },
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			dir, data := filepath.Join(root, "kubelet"), filepath.Join(root, "data/disk/precious")
			before(t, dir)
			tree, err := hostfs.OpenTree(root)
			must(t, err)
			defer tree.Close()
			l := trackContents(t, tree, "/kubelet")
			write(t, data)
			must(t, os.RemoveAll(dir))
			must(t, os.Symlink("/data/disk", dir))
			if _, err := l.Undo(t.Context()); err == nil || !strings.Contains(err.Error(), filepath.Dir(data)) {
				t.Errorf("undo: %v", err)
			}
			checkExist(t, data)
			must(t, os.Rename(dir, dir+".link")) // as the error advises
			_, err = l.Undo(t.Context())
			must(t, err)
			checkExist(t, data)
		})
	}
}

// trackContents opens a ledger with a snapshot of a directory.
func trackContents(t *testing.T, tree *hostfs.Tree, dir string) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Open(t.TempDir(), ledger.Drivers{Snapshots: map[ledger.Kind]ledger.SnapshotDriver{
		ledger.Contents: &resource.DirSnapshot{Tree: tree},
	}})
	must(t, err)
	t.Cleanup(func() { l.Close() })
	_, err = l.TrackExternal(t.Context(), "files",
		ledger.Change{Kind: ledger.Contents, Target: dir, Desired: ledger.State{Present: true}})
	must(t, err)
	return l
}

func checkExist(t *testing.T, files ...string) {
	t.Helper()
	for _, file := range files {
		if _, err := os.Stat(file); err != nil {
			t.Errorf("deleted: %v", err)
		}
	}
}
