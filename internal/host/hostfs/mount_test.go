// SPDX-License-Identifier: Apache-2.0

package hostfs

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/test/mountns"
)

// A read-only /usr is mounted in image mode, with links from it to the state of the host.
func TestReadOnlyDirectory(t *testing.T) {
	if !mountns.Isolate(t) {
		return
	}
	root := t.TempDir()
	usr, state := filepath.Join(root, "usr"), filepath.Join(root, "var")
	for _, dir := range []string{filepath.Join(usr, "lib"), state} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../var", filepath.Join(usr, "local")); err != nil {
		t.Fatal(err)
	}
	for _, flags := range []uintptr{unix.MS_BIND, unix.MS_BIND | unix.MS_REMOUNT | unix.MS_RDONLY} {
		if err := unix.Mount(usr, usr, "", flags, ""); err != nil {
			t.Fatal(err)
		}
	}
	defer func() { _ = unix.Unmount(usr, 0) }() // for the removal of the directory
	for path, want := range map[string]string{
		filepath.Join(usr, "lib", "a"):              filepath.Join(usr, "lib"),
		filepath.Join(usr, "new", "directory", "a"): usr,
		filepath.Join(usr, "local", "bin", "a"):     "",
		filepath.Join(state, "a"):                   "",
	} {
		if got := ReadOnlyDirectory(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}
