// SPDX-License-Identifier: Apache-2.0

package hostinfo

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Usage is the usage of a file system.
type Usage struct {
	Path   string // any path on the file system
	Size   uint64 // bytes
	Free   uint64 // bytes available to unprivileged processes
	Inodes uint64 // 0 if the file system has no fixed number
	Unused uint64 // inodes
}

// FileSystemUsage returns the usage of the file system of path.
func FileSystemUsage(path string) (Usage, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(path, &stat); err != nil {
		return Usage{}, fmt.Errorf("reading the disk usage of %s: %w", path, err)
	}
	block := uint64(stat.Bsize) //nolint:gosec // a block has a positive size
	return Usage{Path: path, Size: stat.Blocks * block, Free: stat.Bavail * block, Inodes: stat.Files, Unused: stat.Ffree},
		nil
}

// MemoryAvailable returns the memory that new processes can use without
// swapping (MemAvailable of proc(5)), and the total memory, both in KiB; 0 if
// unknown.
func MemoryAvailable() (available, total int64) { return memory("MemAvailable:"), memory("MemTotal:") }

// Tasks returns the number of processes and threads, and their maximum; 0 if
// unknown.
func Tasks() (running, most int) {
	// The fourth field of loadavg is running/existing (proc(5)).
	if fields := strings.Fields(firstLine("/proc/loadavg")); len(fields) > 3 {
		_, existing, _ := strings.Cut(fields[3], "/")
		running, _ = strconv.Atoi(existing)
	}
	most, _ = strconv.Atoi(firstLine("/proc/sys/kernel/pid_max"))
	return running, most
}
