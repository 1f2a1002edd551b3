package host

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func TestMkdir(t *testing.T) {
	tree, root := openTest(t)
	put(t, root, "etc/file", "")
	for _, p := range []string{"/etc", "/etc/new"} {
		if err := tree.Mkdir(p, mine(0o2750)); err != nil {
			t.Fatal(err)
		}
		if info, err := tree.Lstat(p); err != nil || info.Type != Directory || info.Mode != 0o2750 {
			t.Errorf("%s: %+v, %v", p, info, err)
		}
	}
	for _, p := range []string{"/etc/file", "/none/below"} {
		if err := tree.Mkdir(p, mine(0o755)); err == nil {
			t.Errorf("%s became a directory", p)
		}
	}
}

func TestMissingDirsAreThoseThatMkdirAllMakes(t *testing.T) {
	tree, root := openTest(t)
	put(t, root, "etc/file", "")
	put(t, root, "usr/lib/file", "")
	symlink(t, "usr/lib", root, "lib")
	for p, want := range map[string][]string{
		"/":         nil,
		"/etc":      nil,
		"/lib":      nil,
		"/lib/a":    {"/lib/a"},
		"/etc/a/b":  {"/etc/a", "/etc/a/b"},
		"/etc/a/b/": {"/etc/a", "/etc/a/b"},
		"/x/y/z":    {"/x", "/x/y", "/x/y/z"},
	} {
		missing, err := tree.MissingDirs(p)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, missing); diff != "" {
			t.Errorf("%s (-want +got):\n%s", p, diff)
		}
	}
	if err := tree.MkdirAll("/lib/a/b"); err != nil {
		t.Fatal(err)
	}
	if info, err := tree.Lstat("/usr/lib/a/b"); err != nil || info.Type != Directory {
		t.Errorf("made through a link: %+v, %v", info, err)
	}
	if err := tree.MkdirAll("/etc/file/below"); err == nil {
		t.Error("directories were made below a file")
	}
}

func TestSymlinkReplacesInOneStep(t *testing.T) {
	tree, root := openTest(t)
	put(t, root, "file", "was here")
	symlink(t, "old", root, "link")
	put(t, root, "dir/inner", "")
	for _, p := range []string{"/file", "/link", "/new"} {
		if err := tree.Symlink("/dev/null", p, mine(0)); err != nil {
			t.Fatal(err)
		}
	}
	if err := tree.Symlink("/dev/null", "/dir", mine(0)); err == nil {
		t.Error("a link took the place of a directory")
	}
	want := []string{"/dir", "/dir/inner=", "/file -> /dev/null", "/link -> /dev/null", "/new -> /dev/null"}
	if diff := cmp.Diff(want, names(t, root)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestHardLink(t *testing.T) {
	tree, root := openTest(t)
	put(t, root, "file", "one")
	put(t, root, "taken", "two")
	if err := tree.HardLink("/file", "/taken"); err != nil {
		t.Fatal(err)
	}
	one, err := tree.Lstat("/file")
	if err != nil {
		t.Fatal(err)
	}
	if two, err := tree.Lstat("/taken"); err != nil || one.Inode != two.Inode {
		t.Errorf("inodes %d and %d, %v", one.Inode, two.Inode, err)
	}
	if err := tree.HardLink("/none", "/x"); err == nil {
		t.Error("a name was given to nothing")
	}
}

func TestSetAttrKeepsContentAndAddsAttributes(t *testing.T) {
	tree, root := openTest(t)
	put(t, root, "file", "content")
	file := filepath.Join(root, "file")
	if err := unix.Lsetxattr(file, "user.kept", []byte("yes"), 0); err != nil {
		t.Fatal(err)
	}
	attr := mine(0o751)
	attr.Xattrs = map[string][]byte{"user.added": []byte("too")}
	if err := tree.SetAttr("/file", attr); err != nil {
		t.Fatal(err)
	}
	content, info, err := tree.ReadFile("/file")
	if err != nil || string(content) != "content" || info.Mode != 0o751 {
		t.Errorf("%q, mode %04o, %v", content, info.Mode, err)
	}
	if string(info.Xattrs["user.kept"]) != "yes" || string(info.Xattrs["user.added"]) != "too" {
		t.Errorf("attributes %q", info.Xattrs)
	}
}

func TestRemoveTakesNoFullDirectory(t *testing.T) {
	tree, root := openTest(t)
	put(t, root, "full/file", "")
	if err := os.Mkdir(filepath.Join(root, "empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := tree.Remove("/empty"); err != nil {
		t.Error(err)
	}
	if err := tree.Remove("/full"); err == nil {
		t.Error("a full directory was removed")
	}
	if got := names(t, root); !slices.Equal(got, []string{"/full", "/full/file="}) {
		t.Errorf("left: %q", got)
	}
}

func TestOpenTreeRefusesWhatIsNoDirectory(t *testing.T) {
	_, root := openTest(t)
	put(t, root, "file", "")
	for _, name := range []string{filepath.Join(root, "file"), filepath.Join(root, "none")} {
		if tree, err := OpenTree(name); err == nil {
			tree.Close()
			t.Errorf("%s was opened as a tree", name)
		}
	}
	tree, err := OpenTree(root + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	if tree.Live() || tree.Name() != root {
		t.Errorf("name %s, live %t", tree.Name(), tree.Live())
	}
}
