// SPDX-License-Identifier: Apache-2.0

package hostfs

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestPrivateDir(t *testing.T) {
	tree, root := openTest(t)
	put(t, root, "file", "")
	symlink(t, ".", root, "link")
	for name, mode := range map[string]uint32{"group": 0o770, "all": 0o777, "mine": 0o755} {
		if err := os.Mkdir(filepath.Join(root, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := unix.Chmod(filepath.Join(root, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	refused := []string{"/file", "/link", "/group", "/all", "/none/below", "/"}
	if os.Geteuid() == 0 {
		if err := os.Mkdir(filepath.Join(root, "theirs"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(filepath.Join(root, "theirs"), 4711, 0); err != nil {
			t.Fatal(err)
		}
		refused = append(refused, "/theirs")
	}
	for _, p := range refused {
		if dir, err := tree.PrivateDir(p); err == nil {
			dir.Close()
			t.Errorf("%s was accepted", p)
		}
	}
	for _, p := range []string{"/new", "/new", "/mine"} {
		dir, err := tree.PrivateDir(p)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(fmt.Sprintf("/proc/self/fd/%d/inside", dir.Fd()), nil, 0o600); err != nil {
			t.Error(err)
		}
		dir.Close()
		if there, err := tree.Exists(p + "/inside"); err != nil || !there {
			t.Errorf("nothing was written to %s: %v", p, err)
		}
	}
	if info, err := tree.Lstat("/new"); err != nil || info.Mode != 0o700 || info.UID != os.Geteuid() {
		t.Errorf("%+v, %v", info, err)
	}
}
