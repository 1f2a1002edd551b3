// SPDX-License-Identifier: Apache-2.0

package hostfs

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// A file that a killed run has left under the temporary name does not prevent
// anything.
func TestTemporaryNameExists(t *testing.T) {
	for name, leave := range map[string]func(t *testing.T, root, name string){
		"file": func(t *testing.T, root, name string) { t.Helper(); put(t, root, name, "left by a killed run") },
		"link": func(t *testing.T, root, name string) { t.Helper(); symlink(t, "nowhere", root, name) },
		"directory": func(t *testing.T, root, name string) {
			t.Helper()
			if err := os.Mkdir(filepath.Join(root, name), 0o700); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			tree, root := openTest(t)
			put(t, root, "one", "1")
			for _, base := range []string{"file", "link", "directory", "hard"} {
				leave(t, root, temporaryName(base))
			}
			batch := tree.NewBatch()
			err := errors.Join(batch.Stage("/file", []byte("new"), newAttr(0o600)), batch.Commit(),
				tree.Symlink("to", "/link", newAttr(0)), tree.Mkdir("/directory", newAttr(0o700)), tree.HardLink("/one", "/hard"))
			if err != nil {
				t.Fatal(err)
			}
			if got := names(t, root); !slices.Equal(got, []string{
				"/directory", "/file=new", "/hard=1", "/link -> to", "/one=1",
			}) {
				t.Errorf("there is %q", got)
			}
		})
	}
}

// From its creation, a temporary file is readable only by its owner, whatever the umask is: its content
// can be a secret.
func TestTemporaryFileIsPrivate(t *testing.T) {
	defer unix.Umask(unix.Umask(0))
	tree, root := openTest(t)
	where, err := tree.openParent("/secret")
	if err != nil {
		t.Fatal(err)
	}
	defer where.parent.Close()
	file, name, err := createTemporary(where)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	info, err := os.Stat(filepath.Join(root, name))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}
