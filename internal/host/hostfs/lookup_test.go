// SPDX-License-Identifier: Apache-2.0

package hostfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	pathrs "github.com/cyphar/filepath-securejoin/pathrs-lite"
	"golang.org/x/sys/unix"
)

// Both implementations of lookup find the same directories as pathrs, and none
// where pathrs finds none.
func TestLookupMatchesPathrs(t *testing.T) {
	tree, root := openTest(t)
	put(t, root, "usr/lib/deep/file", "")
	put(t, filepath.Dir(root), "outside/file", "")
	for name, target := range map[string]string{
		"lib": "usr/lib", "abs": "/usr/lib", "up": "../../../usr", "out": "../outside", "dangling": "none",
		"circle":       "circle",
		"usr/lib/back": "../../lib/deep", "proc": "/proc/self/root", "chain": "up/lib/back/..",
		"dots": "./usr/./lib/..//lib/",
	} {
		symlink(t, target, root, name)
	}
	found := 0
	for _, p := range []string{
		"/", "/usr", "/usr/", "/lib", "/lib/deep/", "/abs/deep", "/up/lib", "/out", "/out/file", "/dangling",
		"/dangling/below", "/circle",
		"/circle/below", "/usr/lib/back/", "/usr/lib/deep/file", "/usr/lib/deep/file/", "/usr/lib/deep/file/below", "/none",
		"/proc",
		"/chain", "/chain/deep", "/dots/back",
	} {
		wanted, wantErr := pathrs.OpenatInRoot(tree.root, p)
		if wantErr == nil && !isDirectory(t, wanted) {
			wantErr = unix.ENOTDIR
		}
		for _, flags := range []int{unix.O_PATH, unix.O_RDONLY} {
			for name, lookup := range map[string]func(string,
				int) (*os.File, error){"lookup": tree.lookup, "lookupSteps": tree.lookupByComponent} {
				got, err := lookup(p, flags|unix.O_DIRECTORY)
				switch {
				case err == nil && wantErr == nil:
					found++
					if one, other := mustFileID(t, got), mustFileID(t, wanted); one != other {
						t.Errorf("%s of %s is %v, and %v to pathrs", name, p, one, other)
					}
				case err == nil || wantErr == nil || IsNotExist(err) != IsNotExist(wantErr) ||
					errors.Is(err, fs.ErrNotExist) != errors.Is(wantErr, fs.ErrNotExist):
					t.Errorf("%s of %s: %v, and %v of pathrs", name, p, err, wantErr)
				}
				got.Close()
			}
		}
		wanted.Close()
	}
	if found < 40 {
		t.Errorf("only %d were found", found)
	}
	if entries, err := os.ReadDir("/proc/self/fd"); err != nil || len(entries) > 40 {
		t.Errorf("%d files are still open, %v", len(entries), err)
	}
}

func mustFileID(t *testing.T, file *os.File) fileID {
	t.Helper()
	is, err := fileIDOf(file)
	if err != nil {
		t.Fatal(err)
	}
	return is
}

func isDirectory(t *testing.T, file *os.File) bool {
	t.Helper()
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return info.IsDir()
}

// newHomes creates a tree with the home directory of user 1000, and links of root
// and of that user.
func newHomes(t *testing.T) (*Tree, string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("giving files to other owners needs root")
	}
	tree, root := openTest(t)
	for _, dir := range []string{
		"etc/sudoers.d", "root/.ssh", "home/u/.ssh/keys.d", "home/u/made-by-root/deep", "home/v", "tmp", "srv/of-u/sub",
		"run",
	} {
		mustDo(t, os.MkdirAll(filepath.Join(root, dir), 0o755)) //nolint:gosec // as on a host
	}
	for _, dir := range []string{"home/u", "home/u/.ssh", "home/u/.ssh/keys.d", "srv/of-u"} {
		mustDo(t, os.Chown(filepath.Join(root, dir), 1000, 1000))
	}
	mustDo(t, os.Chown(filepath.Join(root, "home/v"), 1001, 1001))
	mustDo(t, os.Chmod(filepath.Join(root, "tmp"), 0o777|os.ModeSticky))
	for name, target := range map[string]string{
		"home/u/.config": "../../etc", "home/u/absolute": "/etc", "home/u/own": ".ssh", "home/u/own-absolute": "/srv/of-u",
		"home/u/other": "../v",
		"home/u/chain": "trampoline/sudoers.d", "home/u/trampoline": "/etc", "home/u/dangling": "/etc/new",
		"home/u/below-root": "made-by-root/deep",
		"home/u/back":       "/home/u/.config/../home/u/.ssh", "tmp/trap": "/etc", "home/u/via-root": "/run/by-root",
	} {
		symlink(t, target, root, name)
		mustDo(t, os.Lchown(filepath.Join(root, name), 1000, 1000))
	}
	for name, target := range map[string]string{
		"home/u/moved": "../../etc",
		"run/by-root":  "/etc",
		"run/home":     "/home/u",
		"run/config":   "/home/u/.config",
	} {
		symlink(t, target, root, name)
	}
	return tree, root
}

func TestUserLinksOnlyReachOwnDirectories(t *testing.T) {
	tree, root := newHomes(t)
	for dir, want := range map[string]string{ // of the error; "": the link is followed
		"/home/u/.ssh":              "",
		"/home/u/.ssh/keys.d":       "",
		"/home/u/made-by-root/deep": "", // only root can have created it
		"/home/u/own/keys.d":        "",
		"/home/u/own-absolute":      "",
		"/home/u/own-absolute/sub":  "",
		"/run/home/.ssh":            "", // root's link
		"/home/u/back":              ".config of user 1000 is not followed: its target belongs to user 0",
		"/home/u/.config":           ".config of user 1000 is not followed: its target belongs to user 0",
		"/home/u/.config/sudoers.d": ".config of user 1000",
		"/run/config":               ".config of user 1000",
		"/home/u/absolute":          "absolute of user 1000",
		"/home/u/chain":             "trampoline of user 1000",
		"/home/u/via-root":          "via-root of user 1000 is not followed: its target belongs to user 0",
		"/home/u/below-root":        "below-root of user 1000 is not followed: its target belongs to user 0",
		"/home/u/other":             "is not followed: its target belongs to user 1001",
		"/home/u/moved":             "moved of user 1000", // root's link, moved by the user
		"/tmp/trap":                 "trap of user 1000",
	} {
		opened, err := tree.lookup(dir, unix.O_PATH)
		opened.Close()
		var unsafe *UnsafeLinkError
		if want == "" && err != nil || want != "" && (!errors.As(err, &unsafe) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", dir, err, want)
		}
		attr := Attr{Mode: 0o644, UID: 1000, GID: 1000}
		batch := tree.NewBatch()
		for name, err := range map[string]error{
			"Stage": batch.Stage(dir+"/file", nil, attr), "Mkdir": tree.Mkdir(dir+"/dir", attr),
			"Symlink":  tree.Symlink("x", dir+"/link", attr),
			"MkdirAll": tree.MkdirAll(dir + "/a/b"), "Touch": batch.Touch(dir + "/file"),
		} {
			if errors.As(err, &unsafe) != (want != "") || (want == "" && err != nil) {
				t.Errorf("%s in %s: %v", name, dir, err)
			}
		}
		batch.Abort()
	}
	for _, dir := range []string{"etc", "etc/sudoers.d", "root/.ssh", "home/v"} {
		names, err := os.ReadDir(filepath.Join(root, dir))
		if mustDo(t, err); len(names) > 1 || len(names) == 1 && names[0].Name() != "sudoers.d" {
			t.Errorf("%s has %v now", dir, names)
		}
	}
	if _, err := tree.lookup("/home/u/dangling", unix.O_PATH); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a link to nothing: %v", err)
	}
}

// Links of the owner of the whole tree are followed.
func TestTreeOwnerLinksAreFollowed(t *testing.T) {
	_, root := newHomes(t)
	mustDo(t, os.Lchown(root, 1000, 1000))
	tree, err := OpenTree(root)
	mustDo(t, err)
	defer tree.Close()
	opened, err := tree.lookup("/home/u/.config/sudoers.d", unix.O_PATH)
	if err != nil {
		t.Error(err)
	}
	opened.Close()
}
