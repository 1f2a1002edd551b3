// SPDX-License-Identifier: Apache-2.0

package lossydisk

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// blockSize is the size of the parts of a write that a power cut writes or loses. The file systems expect that a
// disk writes a sector of 4 KiB completely or not at all.
const blockSize = 4096

// Recording is a disk in use whose writes and flushes are logged.
type Recording struct {
	Points []string // the directories of its file systems

	base Image
	log  *writeLog
}

// Record mounts the file systems of a copy of the disk, and logs what they write from then on.
func (i Image) Record(t *testing.T) *Recording {
	t.Helper()
	dir := directory(t)
	disk, log, exported := filepath.Join(dir, "disk"), filepath.Join(dir, "log"), filepath.Join(dir, "exported")
	i.copyTo(t, disk)
	must(t, os.WriteFile(log, nil, 0o600))
	must(t, os.WriteFile(exported, nil, 0o600))
	command := exec.Command("qemu-storage-daemon",
		"--blockdev", "driver=file,node-name=disk,filename="+disk,
		"--blockdev", "driver=file,node-name=log,filename="+log,
		"--blockdev", fmt.Sprintf("driver=blklogwrites,node-name=logged,file=disk,log=log,log-sector-size=%d", logSectorSize),
		"--export", "type=fuse,id=exported,node-name=logged,writable=on,mountpoint="+exported,
		"--chardev", "stdio,id=qmp", "--monitor", "qmp")
	out, err := command.StdoutPipe()
	must(t, err)
	in, err := command.StdinPipe() // open until the end, because it is the monitor
	must(t, err)
	command.Stderr = os.Stderr
	must(t, command.Start())
	t.Cleanup(func() { // after the file systems are unmounted
		_ = command.Process.Signal(os.Interrupt)
		_ = command.Wait() // an error comes from the signal
		in.Close()
	})
	// The monitor greets after the export exists.
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("qemu-storage-daemon ended: %v", err)
	}
	opened, err := os.Open(log)
	must(t, err)
	t.Cleanup(func() { opened.Close() })
	return &Recording{
		Points: Image{File: exported, fileSystems: i.fileSystems}.Mount(t),
		base:   i,
		log:    &writeLog{file: opened, next: logSectorSize},
	}
}

// Position returns the number of the requests that the disk has received.
func (r *Recording) Position(t *testing.T) int {
	t.Helper()
	must(t, r.log.read())
	return len(r.log.entries)
}

// Cut returns a possible content of the disk after a power cut at a position: all writes before the last flush, and
// a random selection of the blocks that were written since. If a block was written several times since, the disk
// contains the last of the selected writes: a disk never returns an older one. After a failure of the test, a copy
// of the disk remains.
func (r *Recording) Cut(t *testing.T, random *rand.Rand, position int) Image {
	t.Helper()
	seed := random.Uint64()
	cut := Image{File: filepath.Join(directory(t), "disk"), fileSystems: r.base.fileSystems}
	r.writeCut(t, cut, seed, position)
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		kept := Image{File: filepath.Join(os.TempDir(), fmt.Sprintf("power-cut-%x", seed)), fileSystems: cut.fileSystems}
		r.writeCut(t, kept, seed, position)
		for n, fs := range kept.fileSystems {
			t.Logf("after the power cut: mount -t %s -o loop,offset=%d,sizelimit=%d %s DIRECTORY",
				fs.Type, n*fileSystemSize, fileSystemSize, kept.File)
		}
	})
	return cut
}

func (r *Recording) writeCut(t *testing.T, to Image, seed uint64, position int) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // must be repeatable
	r.base.copyTo(t, to.File)
	file, err := os.OpenFile(to.File, os.O_WRONLY, 0)
	must(t, err)
	defer file.Close()
	durable := 0
	for n, e := range r.log.entries[:position] {
		if e.isFlush {
			durable = n
		}
	}
	kept := []float64{0, 0.1, 0.5, 0.9, 1}[random.IntN(5)] // the part of the blocks that survives
	for n, e := range r.log.entries[:position] {
		content, err := r.log.content(e)
		must(t, err)
		for at := int64(0); at < e.length; {
			end := min(e.length, at+blockSize-(e.at+at)%blockSize)
			if n < durable || random.Float64() < kept {
				_, err := file.WriteAt(content[at:end], e.at+at)
				must(t, err)
			}
			at = end
		}
	}
}

// RandomPosition returns a position between two others, both included.
func RandomPosition(random *rand.Rand, first, last int) int { return first + random.IntN(last-first+1) }
