// SPDX-License-Identifier: Apache-2.0

package hostfs

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// openTest opens a fresh directory as a tree.
func openTest(t *testing.T) (*Tree, string) {
	t.Helper()
	root := filepath.Join(t.TempDir(), "root")
	if err := os.Mkdir(root, 0o755); err != nil { //nolint:gosec // as the root of a host
		t.Fatal(err)
	}
	tree, err := OpenTree(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tree.Close() })
	return tree, root
}

// put writes a file below root, and creates its parents.
func put(t *testing.T, root, name, content string) {
	t.Helper()
	file := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // as on a host
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func symlink(t *testing.T, target, root, name string) {
	t.Helper()
	if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
		t.Fatal(err)
	}
}

// newAttr returns an Attr that an unprivileged user may set.
func newAttr(mode uint32) Attr { return Attr{Mode: mode, UID: os.Geteuid(), GID: os.Getegid()} }

// names returns everything below root, with the contents of files and the
// targets of links.
func names(t *testing.T, root string) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(root, func(p string, entry fs.DirEntry, err error) error {
		if err != nil || p == root {
			return err
		}
		line := strings.TrimPrefix(p, root)
		switch {
		case entry.Type()&fs.ModeSymlink != 0:
			target, _ := os.Readlink(p)
			line += " -> " + target
		case entry.Type().IsRegular():
			content, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			line += "=" + string(content)
		}
		list = append(list, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// All ways in which a parent directory can lead out of the tree.
func TestTreeStaysInItsRoot(t *testing.T) {
	for name, target := range map[string]string{
		"absolute":                  "", // replaced by the path of the directory outside
		"relative":                  "../outside",
		"more steps up than it has": "../../../../../../../../outside",
		"up and down":               "deep/../../outside",
		"a chain":                   "chain",
	} {
		t.Run(name, func(t *testing.T) {
			tree, root := openTest(t)
			outside := filepath.Join(filepath.Dir(root), "outside")
			put(t, outside, "secret", "theirs")
			put(t, root, "deep/file", "")
			symlink(t, "../outside", root, "chain")
			if target == "" {
				target = outside
			}
			symlink(t, target, root, "etc")
			before := names(t, outside)

			if content, _, err := tree.ReadFile("/etc/secret"); err == nil {
				t.Errorf("read %q from outside", content)
			}
			if listed, err := tree.ReadDir("/etc"); err == nil {
				t.Errorf("listed %q outside", listed)
			}
			if there, err := tree.Exists("/etc/secret"); there || err != nil {
				t.Errorf("Exists outside: %t, %v", there, err)
			}
			batch := tree.NewBatch()
			defer batch.Abort()
			for what, err := range map[string]error{
				"staging": batch.Stage("/etc/secret", []byte("ours"), newAttr(0o600)),
				"making":  tree.Mkdir("/etc/new", newAttr(0o755)),
				"linking": tree.Symlink("/x", "/etc/secret", newAttr(0)),
				"naming":  tree.HardLink("/etc/secret", "/stolen"),
				"setting": tree.SetAttr("/etc/secret", newAttr(0o777)),
			} {
				if err == nil {
					t.Errorf("%s outside is no error", what)
				}
			}
			if err := tree.Remove("/etc/secret"); err != nil {
				t.Errorf("removing what is not in the tree: %v", err)
			}
			if diff := cmp.Diff(before, names(t, outside)); diff != "" {
				t.Errorf("outside the tree (-before +after):\n%s", diff)
			}
		})
	}
}

// A link in a parent directory is followed as if the tree were mounted at /.
func TestLinksResolveInsideTree(t *testing.T) {
	tree, root := openTest(t)
	put(t, root, "usr/lib/file", "in the tree")
	for name, target := range map[string]string{
		"absolute": "/usr/lib",
		"relative": "usr/lib",
		"high":     "../../../usr/lib",
	} {
		symlink(t, target, root, name)
		content, info, err := tree.ReadFile("/" + name + "/file")
		if err != nil || string(content) != "in the tree" || info.Type != Regular {
			t.Errorf("%s link: %q, %v", name, content, err)
		}
	}
	if content, _, err := tree.ReadFile("/../../usr/../usr/lib/file"); err != nil || string(content) != "in the tree" {
		t.Errorf("dots in the path itself: %q, %v", content, err)
	}
}

func TestLastComponentIsNeverFollowed(t *testing.T) {
	tree, root := openTest(t)
	put(t, root, "target", "of the link")
	symlink(t, "target", root, "link")

	info, err := tree.Lstat("/link")
	if err != nil || info.Type != Symlink || info.Link != "target" {
		t.Errorf("Lstat = %+v, %v", info, err)
	}
	if content, _, err := tree.ReadFile("/link"); err == nil {
		t.Errorf("a link was read as %q", content)
	}
	if err := tree.SetAttr("/link", newAttr(0o777)); err == nil {
		t.Error("the mode of a link's target was set")
	}
	if err := tree.Mkdir("/link", newAttr(0o755)); err == nil {
		t.Error("a link passed as a directory")
	}
	batch := tree.NewBatch()
	if err := batch.Stage("/link", []byte("a file now"), newAttr(0o600)); err != nil {
		t.Fatal(err)
	}
	if err := batch.Commit(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"/link=a file now", "/target=of the link"}, names(t, root)); diff != "" {
		t.Errorf("a file in place of a link (-want +got):\n%s", diff)
	}
	if err := tree.Symlink("target", "/link", newAttr(0)); err != nil {
		t.Fatal(err)
	}
	if err := tree.Remove("/link"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"/target=of the link"}, names(t, root)); diff != "" {
		t.Errorf("after removing the link (-want +got):\n%s", diff)
	}
}

func TestReadFileRefusesNonRegularFile(t *testing.T) {
	tree, root := openTest(t)
	if err := unix.Mkfifo(filepath.Join(root, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for p, want := range map[string]string{"/pipe": "special file", "/": "no parent", "/none": "no such file"} {
		_, _, err := tree.ReadFile(p) // a pipe without a writer must not block
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("reading %s: %v, want %q", p, err, want)
		}
	}
}

func TestMissingFileIsNotAnError(t *testing.T) {
	tree, root := openTest(t)
	put(t, root, "file", "")
	for _, p := range []string{"/none", "/none/below", "/file/below"} {
		if info, err := tree.Lstat(p); err != nil || info.Type != Absent {
			t.Errorf("Lstat(%s) = %+v, %v", p, info, err)
		}
		if err := tree.Remove(p); err != nil {
			t.Errorf("Remove(%s): %v", p, err)
		}
	}
}

func TestReadFileReturnsLargeFile(t *testing.T) {
	tree, root := openTest(t)
	want := bytes.Repeat([]byte("0123456789abcdef"), 20_000)
	put(t, root, "big", string(want))
	content, info, err := tree.ReadFile("/big")
	if err != nil || !bytes.Equal(content, want) || info.Size != int64(len(want)) {
		t.Errorf("%d bytes of %d, %v", len(content), len(want), err)
	}
}

func TestIsWithin(t *testing.T) {
	for _, test := range []struct {
		p, dir string
		want   bool
	}{
		{"/var/lib/kubelet", "/var/lib/kubelet", true},
		{"/var/lib/kubelet/pods/a", "/var/lib/kubelet/", true},
		{"/var/lib/kubelet-other", "/var/lib/kubelet", false},
		{"/var/lib/kubelet/../crio", "/var/lib/kubelet", false},
		{"/etc", "/", true},
		{"/var", "/var/lib", false},
	} {
		if got := IsWithin(test.p, test.dir); got != test.want {
			t.Errorf("Within(%s, %s) = %t", test.p, test.dir, got)
		}
	}
}

func TestReadDirIsSorted(t *testing.T) {
	tree, root := openTest(t)
	for _, name := range []string{"c", "a", "b/inner"} {
		put(t, root, name, "")
	}
	listed, err := tree.ReadDir("/")
	if err != nil || !slices.Equal(listed, []string{"a", "b", "c"}) {
		t.Errorf("ReadDir = %q, %v", listed, err)
	}
}
