// SPDX-License-Identifier: Apache-2.0

package hostfs

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func TestBatchReplacesFilesTogether(t *testing.T) {
	tree, root := openTest(t)
	put(t, root, "etc/old", "old, and longer than what comes")
	put(t, root, "etc/untouched", "same")
	held, err := os.Open(filepath.Join(root, "etc/old"))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	batch := tree.NewBatch()
	defer batch.Abort()
	for name, content := range map[string]string{"/etc/old": "new", "/etc/fresh": "fresh", "/empty": ""} {
		if err := batch.Stage(name, []byte(content), newAttr(0o640)); err != nil {
			t.Fatal(err)
		}
	}
	if content, _, err := tree.ReadFile("/etc/old"); err != nil || string(content) != "old, and longer than what comes" {
		t.Errorf("before the commit a reader sees %q, %v", content, err)
	}
	if there, _ := tree.Exists("/etc/fresh"); there {
		t.Error("a file is there before the commit")
	}
	if err := batch.Commit(); err != nil {
		t.Fatal(err)
	}
	want := []string{"/empty=", "/etc", "/etc/fresh=fresh", "/etc/old=new", "/etc/untouched=same"}
	if diff := cmp.Diff(want, names(t, root)); diff != "" {
		t.Errorf("after the commit (-want +got):\n%s", diff)
	}
	reader := make([]byte, 64)
	if n, _ := held.Read(reader); string(reader[:n]) != "old, and longer than what comes" {
		t.Errorf("a reader who had the old file open sees %q", reader[:n])
	}
}

func TestAbortLeavesNothing(t *testing.T) {
	tree, root := openTest(t)
	put(t, root, "etc/old", "old")
	before := names(t, root)
	batch := tree.NewBatch()
	for _, name := range []string{"/etc/old", "/etc/new"} {
		if err := batch.Stage(name, []byte("x"), newAttr(0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := batch.Stage("/missing/parent", nil, newAttr(0o600)); err == nil {
		t.Error("a file without a parent was staged")
	}
	if len(names(t, root)) != len(before)+2 {
		t.Errorf("staged contents are not beside their targets: %q", names(t, root))
	}
	batch.Abort()
	batch.Abort()
	if diff := cmp.Diff(before, names(t, root)); diff != "" {
		t.Errorf("after an abort (-want +got):\n%s", diff)
	}
}

// The next run removes the temporary file of a killed run, and does not inherit
// its mode.
func TestBatchReplacesLeftoverTemporaryFile(t *testing.T) {
	tree, root := openTest(t)
	killed := tree.NewBatch()
	if err := killed.Stage("/secret", []byte("half"), newAttr(0o666)); err != nil {
		t.Fatal(err)
	}
	batch := tree.NewBatch()
	if err := batch.Stage("/secret", []byte("whole"), newAttr(0o600)); err != nil {
		t.Fatal(err)
	}
	if err := batch.Commit(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"/secret=whole"}, names(t, root)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	killed.Abort()
	if info, err := tree.Lstat("/secret"); err != nil || info.Mode != 0o600 {
		t.Errorf("mode %04o, %v", info.Mode, err)
	}
}

func TestBatchSetsModeOwnerAndAttributes(t *testing.T) {
	old := unix.Umask(0o077) // must have no effect
	defer unix.Umask(old)
	tree, _ := openTest(t)
	for _, test := range []struct {
		name string
		attr Attr
	}{
		{"/plain", newAttr(0o644)},
		{"/secret", newAttr(0o600)},
		{"/setuid", newAttr(0o4755)},
		{"/none", newAttr(0)},
		{
			"/labelled", Attr{
				Mode:   0o640,
				UID:    os.Geteuid(),
				GID:    os.Getegid(),
				Xattrs: map[string][]byte{"user.a": []byte("1"), "user.empty": {}},
			},
		},
	} {
		attr := test.attr
		if os.Geteuid() == 0 {
			attr.UID, attr.GID = 4711, 815
		}
		batch := tree.NewBatch()
		if err := batch.Stage(test.name, []byte("x"), attr); err != nil {
			t.Fatal(err)
		}
		if err := batch.Commit(); err != nil {
			t.Fatal(err)
		}
		info, err := tree.Lstat(test.name)
		if err != nil {
			t.Fatal(err)
		}
		got := Attr{Mode: info.Mode, UID: info.UID, GID: info.GID}
		for name, value := range info.Xattrs {
			if _, wanted := attr.Xattrs[name]; wanted { // the system may add its own label
				if got.Xattrs == nil {
					got.Xattrs = map[string][]byte{}
				}
				got.Xattrs[name] = value
			}
		}
		if diff := cmp.Diff(attr, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// A batch of a thousand files must not need a thousand open files: it keeps
// their parents open, and one file per file system.
func TestBatchKeepsOneFileOpenForEachFileSystem(t *testing.T) {
	tree, _ := openTest(t)
	batch := tree.NewBatch()
	defer batch.Abort()
	for _, name := range []string{"/a", "/b", "/c"} {
		if err := batch.Stage(name, nil, newAttr(0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if len(batch.devices) != 1 {
		t.Errorf("%d files are kept open for one file system", len(batch.devices))
	}
}

// A directory needs one handle for any number of staged files. A staged file is
// found by any of its names.
func TestBatchKeepsOneHandleForEachDirectory(t *testing.T) {
	tree, root := openTest(t)
	put(t, root, "etc/sub/file", "")
	symlink(t, "etc", root, "alias")
	batch := tree.NewBatch()
	defer batch.Abort()
	for _, name := range []string{"/etc/a", "/alias/b", "/etc/c", "/etc/sub/d"} {
		if err := batch.Stage(name, nil, newAttr(0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if len(batch.parents) != 2 {
		t.Errorf("%d handles for two directories", len(batch.parents))
	}
	for name, want := range map[string]bool{
		"/alias/a":   true,
		"/etc/b":     true,
		"/etc/d":     false,
		"/etc/sub/d": true,
		"/a":         false,
		"/none/a":    false,
	} {
		if got, err := batch.IsStaged(name); err != nil || got != want {
			t.Errorf("%s is staged: %t, %v", name, got, err)
		}
	}
	if err := batch.Rename(); err != nil {
		t.Fatal(err)
	}
	if got, err := batch.IsStaged("/etc/a"); err != nil || got {
		t.Errorf("staged after the rename: %t, %v", got, err)
	}
	if err := batch.Touch("/none/at/all"); err != nil {
		t.Error(err)
	}
}

// A batch finds an open directory by its path only until a link in the path can have changed.
func TestBatchFollowsAChangedLink(t *testing.T) {
	tree, root := openTest(t)
	put(t, root, "old/file", "")
	put(t, root, "new/file", "")
	symlink(t, "old", root, "alias")
	batch := tree.NewBatch()
	defer batch.Abort()
	stage := func(name string) {
		if err := batch.Stage(name, nil, newAttr(0o600)); err != nil {
			t.Fatal(err)
		}
	}
	stage("/alias/first")
	stage("/alias/second")
	if err := batch.Touch("/alias"); err != nil {
		t.Fatal(err)
	}
	if err := tree.Symlink("new", "/alias", newAttr(0)); err != nil {
		t.Fatal(err)
	}
	stage("/alias/third")
	if err := batch.Commit(); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"/alias -> new", "/new", "/new/file=", "/new/third=", "/old", "/old/file=", "/old/first=", "/old/second=",
	}
	if diff := cmp.Diff(want, names(t, root)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
