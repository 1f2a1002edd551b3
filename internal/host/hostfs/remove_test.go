// SPDX-License-Identifier: Apache-2.0

package hostfs

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// disk is a file system in a file, of which copies can be mounted.
type disk struct{ image, mounted string }

// newDisk mounts an empty ext4 that only commits when it is synced.
func newDisk(t *testing.T) disk {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
	image := filepath.Join(t.TempDir(), "image")
	execute(t, "truncate", "--size=8M", image)
	execute(t, "mkfs.ext4", "-q", image)
	return disk{image: image, mounted: mount(t, image)}
}

func execute(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v: %s", name, args, err, out)
	}
}

func mount(t *testing.T, image string) string {
	t.Helper()
	point := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "mount", "-o", "loop,commit=3600", image,
		point).CombinedOutput(); err != nil {
		t.Skipf("no loop device can be mounted here: %s", out)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(point, 0); err != nil {
			t.Error(err)
		}
	})
	return point
}

// cutPower returns the file system as a power loss would leave it now: only
// what was written to the device.
func (d disk) cutPower(t *testing.T) disk {
	t.Helper()
	image := filepath.Join(t.TempDir(), "image")
	execute(t, "cp", "--sparse=always", d.image, image)
	return disk{image: image, mounted: mount(t, image)}
}

func TestRemoveSyncedSurvivesPowerLoss(t *testing.T) {
	first, second := newDisk(t), newDisk(t)
	var paths []string
	for _, d := range []disk{first, second} {
		token, key := filepath.Join(d.mounted, "token"), filepath.Join(d.mounted, "keys", "client.pem")
		mustDo(t, os.Mkdir(filepath.Dir(key), 0o700))
		for _, name := range []string{token, key} {
			mustDo(t, os.WriteFile(name, []byte("secret"), 0o600))
		}
		paths = append(paths, token, filepath.Dir(key), filepath.Join(d.mounted, "never", "existed"))
	}
	unix.Sync()
	if left := secrets(t, first.cutPower(t)); left != 2 {
		t.Fatalf("%d secrets on the disk before they are removed", left)
	}
	mustDo(t, RemoveSynced(paths...))
	for i, d := range []disk{first, second} {
		if left := secrets(t, d.cutPower(t)); left > 0 {
			t.Errorf("%d secrets on file system %d after a power cut", left, i+1)
		}
	}
}

// A run that was killed between a removal and its sync leaves nothing to
// remove, but a directory to sync.
func TestRemoveSyncedCompletesInterruptedRemoval(t *testing.T) {
	d := newDisk(t)
	token := filepath.Join(d.mounted, "token")
	mustDo(t, os.WriteFile(token, []byte("secret"), 0o600))
	unix.Sync()
	mustDo(t, os.Remove(token))
	if left := secrets(t, d.cutPower(t)); left != 1 {
		t.Fatalf("%d secrets after a removal without a sync: the disk of this test hides nothing", left)
	}
	mustDo(t, RemoveSynced(token))
	if left := secrets(t, d.cutPower(t)); left > 0 {
		t.Error("the secret is back after a power cut")
	}
}

func TestRemoveSyncedContinuesAfterError(t *testing.T) {
	d := newDisk(t)
	stuck, token := filepath.Join(d.mounted, "stuck"), filepath.Join(d.mounted, "token")
	for _, name := range []string{stuck, token} {
		mustDo(t, os.WriteFile(name, []byte("secret"), 0o600))
	}
	execute(t, "chattr", "+i", stuck)
	if err := RemoveSynced(stuck, token); err == nil {
		t.Error("no error for a file that cannot be removed")
	}
	if _, err := os.Lstat(token); err == nil {
		t.Error("the other file is still there")
	}
}

// secrets returns the number of files of a file system.
func secrets(t *testing.T, d disk) int {
	t.Helper()
	found := 0
	tree, err := OpenTree(d.mounted)
	mustDo(t, err)
	defer tree.Close()
	mustDo(t, tree.Walk("/", func(_ string, info Info) error {
		if info.Type == Regular {
			found++
		}
		return nil
	}))
	return found
}

func mustDo(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
