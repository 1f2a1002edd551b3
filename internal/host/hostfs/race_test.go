// SPDX-License-Identifier: Apache-2.0

package hostfs

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// Another process replaces directories in the tree while the agent works as
// root. Whatever an operation returns, nothing outside may be read or changed.
func TestTreeStaysInItsRootWhileLinksAreSwapped(t *testing.T) {
	const rounds = 150
	for name, prepare := range map[string]func(t *testing.T, root, outside string) (one, other string){
		"a directory and a link to the outside": func(t *testing.T, root, _ string) (string, string) {
			t.Helper()
			put(t, root, "etc/file", "inside")
			symlink(t, "../outside", root, "trap")
			return filepath.Join(root, "etc"), filepath.Join(root, "trap")
		},
		"a directory that is moved away under its dots": func(t *testing.T, root, outside string) (string, string) {
			t.Helper()
			// Outside of the tree, deep/down/../.. is the directory that contains root;
			// inside it is root itself.
			put(t, root, "deep/down/here", "")
			put(t, root, "outside/file", "inside")
			put(t, outside, "down/here", "")
			symlink(t, "deep/down/../../outside", root, "etc")
			return filepath.Join(root, "deep/down"), filepath.Join(outside, "down")
		},
	} {
		t.Run(name, func(t *testing.T) {
			tree, root := openTest(t)
			outside := filepath.Join(filepath.Dir(root), "outside")
			put(t, outside, "file", "outside")
			if err := unix.Lsetxattr(filepath.Join(outside, "file"), "user.outside", []byte("1"), 0); err != nil {
				t.Fatal(err)
			}
			one, other := prepare(t, root, outside)
			before := describe(t, outside)

			stop := make(chan struct{})
			var swaps sync.WaitGroup
			swapped := 0
			swaps.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					if unix.Renameat2(unix.AT_FDCWD, one, unix.AT_FDCWD, other, unix.RENAME_EXCHANGE) == nil {
						swapped++
					}
				}
			})
			worked := 0
			for range rounds {
				worked += attack(t, tree)
			}
			close(stop)
			swaps.Wait()
			if swapped == 0 || worked == 0 {
				t.Fatalf("%d swaps, %d operations that worked: nothing was tried", swapped, worked)
			}
			if diff := cmp.Diff(before, describe(t, outside)); diff != "" {
				t.Errorf("outside the tree after %d swaps (-before +after):\n%s", swapped, diff)
			}
		})
	}
}

// attack tries every operation on /etc and returns how many succeeded. Errors
// are expected, because the files change all the time.
func attack(t *testing.T, tree *Tree) int {
	t.Helper()
	if content, _, err := tree.ReadFile("/etc/file"); err == nil && strings.HasPrefix(string(content), "outside") {
		t.Fatal("a file outside was read")
	}
	if info, err := tree.Lstat("/etc/file"); err == nil && len(info.Xattrs["user.outside"]) > 0 {
		t.Fatal("an attribute outside was read")
	}
	marked := newAttr(0o640)
	marked.Xattrs = map[string][]byte{"user.ours": []byte("1")}
	batch := tree.NewBatch()
	defer batch.Abort()
	worked := 0
	for _, try := range []func() error{
		func() error { return batch.Stage("/etc/file", []byte("ours"), marked) },
		func() error { return batch.Touch("/etc/file") },
		batch.Rename,
		func() error { return tree.MkdirAll("/etc/a/b") },
		func() error { return tree.Mkdir("/etc/a/c", marked) },
		func() error { return tree.Mkdir("/etc/a", marked) },
		func() error { return tree.Symlink("/x", "/etc/link", newAttr(0)) },
		func() error { return tree.HardLink("/etc/file", "/etc/again") },
		func() error { return tree.SetAttr("/etc/file", marked) },
		func() error { return tree.Remove("/etc/link") },
		func() error { return tree.Remove("/etc/a/c") },
		func() error { return tree.RemoveTemporary("/etc/file") },
		func() error { return visitNothingOutside(tree, "/etc") },
		func() error { return visitNothingOutside(tree, "/") },
		func() error {
			dir, err := tree.PrivateDir("/etc/private")
			if err == nil {
				err = dir.Close()
			}
			return err
		},
	} {
		err := try()
		if errors.Is(err, errOutside) {
			t.Fatal(err)
		}
		if err == nil {
			worked++
		}
	}
	return worked
}

var errOutside = errors.New("a walk came to a file outside")

func visitNothingOutside(tree *Tree, p string) error {
	return tree.Walk(p, func(p string, info Info) error {
		if len(info.Xattrs["user.outside"]) > 0 {
			return fmt.Errorf("%w: %s", errOutside, p)
		}
		return nil
	})
}

// describe returns names with modes and attributes.
func describe(t *testing.T, root string) []string {
	t.Helper()
	tree, err := OpenTree(root)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	list := names(t, root)
	err = tree.Walk("/", func(p string, info Info) error {
		list = append(list, fmt.Sprintf("%s %04o %d:%d %q", p, info.Mode, info.UID, info.GID, info.Xattrs))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}
