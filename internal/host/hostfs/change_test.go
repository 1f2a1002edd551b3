// SPDX-License-Identifier: Apache-2.0

package hostfs

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
		if err := tree.Mkdir(p, newAttr(0o2750)); err != nil {
			t.Fatal(err)
		}
		if info, err := tree.Lstat(p); err != nil || info.Type != Directory || info.Mode != 0o2750 {
			t.Errorf("%s: %+v, %v", p, info, err)
		}
	}
	for _, p := range []string{"/etc/file", "/none/below"} {
		if err := tree.Mkdir(p, newAttr(0o755)); err == nil {
			t.Errorf("%s became a directory", p)
		}
	}
}

func TestMissingDirsMatchesMkdirAll(t *testing.T) {
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

func TestSymlinkReplacesAtomically(t *testing.T) {
	tree, root := openTest(t)
	put(t, root, "file", "was here")
	symlink(t, "old", root, "link")
	put(t, root, "dir/inner", "")
	for _, p := range []string{"/file", "/link", "/new"} {
		if err := tree.Symlink("/dev/null", p, newAttr(0)); err != nil {
			t.Fatal(err)
		}
	}
	if err := tree.Symlink("/dev/null", "/dir", newAttr(0)); err == nil {
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
	attr := newAttr(0o751)
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

func TestRemoveKeepsNonEmptyDirectory(t *testing.T) {
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

func TestOpenTreeRefusesNonDirectory(t *testing.T) {
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
	if tree.IsLive() || tree.Name() != root {
		t.Errorf("name %s, live %t", tree.Name(), tree.IsLive())
	}
}

// A link can have its own owner, mode and attributes.
func TestLstatReturnsAttributesOfLink(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a link an attribute")
	}
	tree, root := openTest(t)
	put(t, root, "file", "")
	symlink(t, "file", root, "link")
	for name, value := range map[string]string{"file": "of the file", "link": "of the link"} {
		if err := unix.Lsetxattr(filepath.Join(root, name), "trusted.mark", []byte(value), 0); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"/file": "of the file", "/link": "of the link"} {
		if info, err := tree.Lstat(name); err != nil || string(info.Xattrs["trusted.mark"]) != want {
			t.Errorf("%s: %q, %v", name, info.Xattrs, err)
		}
	}
	attr := newAttr(0)
	attr.Xattrs = map[string][]byte{"trusted.mark": []byte("given back")}
	if err := tree.Symlink("file", "/link", attr); err != nil {
		t.Fatal(err)
	}
	if info, err := tree.Lstat("/link"); err != nil || info.Link != "file" ||
		string(info.Xattrs["trusted.mark"]) != "given back" {
		t.Errorf("%+v, %v", info, err)
	}
}

// A file that cannot be removed (chattr +i) is an error, not a success.
func TestRemoveFailsForImmutableFile(t *testing.T) {
	const immutable = 0x10 // FS_IMMUTABLE_FL
	tree, root := openTest(t)
	put(t, root, "file", "precious")
	file, err := os.Open(filepath.Join(root, "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := unix.IoctlSetPointerInt(int(file.Fd()), unix.FS_IOC_SETFLAGS, immutable); err != nil {
		t.Skipf("this file system or user cannot make a file immutable: %v", err)
	}
	defer func() { _ = unix.IoctlSetPointerInt(int(file.Fd()), unix.FS_IOC_SETFLAGS, 0) }()
	if err := tree.Remove("/file"); err == nil {
		t.Error("an immutable file was removed, it says")
	}
}

func TestRemoveTemporary(t *testing.T) {
	tree, root := openTest(t)
	put(t, root, "etc/file", "stays")
	put(t, root, "etc/"+temporaryName("file"), "left by a killed run")
	symlink(t, "nowhere", root, "etc/"+temporaryName("link"))
	if err := os.Mkdir(filepath.Join(root, "etc", temporaryName("dir")), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"/etc/file", "/etc/link", "/etc/dir", "/etc/none", "/none/file", "/etc/file/below"} {
		if err := tree.RemoveTemporary(p); err != nil {
			t.Error(err)
		}
	}
	if got := names(t, root); !slices.Equal(got, []string{"/etc", "/etc/file=stays"}) {
		t.Errorf("left: %q", got)
	}
}

// A rename to another name of the same file does nothing, and returns no error.
func TestHardLinkAlreadyExists(t *testing.T) {
	tree, root := openTest(t)
	put(t, root, "file", "one")
	for range 2 {
		if err := tree.HardLink("/file", "/again"); err != nil {
			t.Fatal(err)
		}
	}
	if got := names(t, root); !slices.Equal(got, []string{"/again=one", "/file=one"}) {
		t.Errorf("there is %q", got)
	}
	if err := os.Mkdir(filepath.Join(root, "dir"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := tree.HardLink("/file", "/dir"); err == nil {
		t.Error("a directory became a hard link")
	}
	if got := names(t, root); !slices.Equal(got, []string{"/again=one", "/dir", "/file=one"}) {
		t.Errorf("there is %q", got)
	}
}
