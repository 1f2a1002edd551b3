// SPDX-License-Identifier: Apache-2.0

package lossydisk

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

const fileSystemSize = 32 << 20

// FileSystem is a file system on a disk.
type FileSystem struct {
	Type    string // ext4 or xfs
	Options string // of the mount
}

// RandomFileSystem returns an ext4 or XFS.
func RandomFileSystem(random *rand.Rand) FileSystem {
	return []FileSystem{
		{Type: "ext4", Options: "errors=remount-ro"},
		// A file that is renamed over another one is not written early.
		{Type: "ext4", Options: "errors=remount-ro,noauto_da_alloc"},
		{Type: "xfs", Options: "nouuid"}, // copies can be mounted at the same time
	}[random.IntN(3)]
}

// Image is the content of a disk that is not in use.
type Image struct {
	File        string
	fileSystems []FileSystem
}

// Format returns a disk with new file systems. Each begins after the end of the one before it.
func Format(t *testing.T, fileSystems ...FileSystem) Image {
	t.Helper()
	image := Image{File: filepath.Join(directory(t), "disk"), fileSystems: fileSystems}
	for i, fs := range fileSystems {
		part := image.File + ".part"
		must(t, os.WriteFile(part, nil, 0o600))
		must(t, os.Truncate(part, fileSystemSize))
		if fs.Type == "ext4" {
			run(t, "mkfs.ext4", "-q", "-E", "nodiscard,lazy_itable_init=1", "-J", "size=4", part)
		} else {
			run(t, "mkfs.xfs", "-q", "-K", part)
		}
		content, err := os.ReadFile(part)
		must(t, err)
		must(t, os.Remove(part))
		must(t, writeSparse(image.File, content, int64(i)*fileSystemSize))
	}
	return image
}

// Mount mounts the file systems and returns their directories. The test unmounts them at its end.
func (i Image) Mount(t *testing.T) (points []string) {
	t.Helper()
	dir := directory(t)
	for n, fs := range i.fileSystems {
		point := filepath.Join(dir, fmt.Sprintf("%d-%s", n, fs.Type))
		must(t, os.Mkdir(point, 0o700))
		run(t, "mount", "-t", fs.Type, "-o", fmt.Sprintf("loop,offset=%d,sizelimit=%d,%s",
			n*fileSystemSize, fileSystemSize, fs.Options), i.File, point)
		t.Cleanup(func() { must(t, unix.Unmount(point, 0)) })
		points = append(points, point)
	}
	return points
}

// copyTo writes a sparse copy of the disk.
func (i Image) copyTo(t *testing.T, name string) {
	t.Helper()
	run(t, "cp", i.File, name)
}

// writeSparse writes content at a position of a file, except for blocks of zeros.
func writeSparse(name string, content []byte, at int64) error {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	zeros := make([]byte, blockSize)
	for n := 0; n < len(content); n += blockSize {
		block := content[n : n+blockSize]
		if string(block) == string(zeros) {
			continue
		}
		if _, err := file.WriteAt(block, at+int64(n)); err != nil {
			return err
		}
	}
	end, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	return file.Truncate(max(end, at+int64(len(content))))
}

// directory returns a new directory in memory, where a flush costs nothing. The test removes it.
func directory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "lossydisk-") //nolint:usetesting // t.TempDir is on a disk
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	return dir
}

func run(t *testing.T, name string, args ...string) {
	t.Helper()
	command := exec.Command(name, args...) // without the context, which ends before the cleanup
	// With these variables of its tests, mkfs.xfs creates file systems of less than 300 MB.
	command.Env = append(os.Environ(), "TEST_DIR=x", "TEST_DEV=x", "QA_CHECK_FS=1")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v: %s", name, args, err, out)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
