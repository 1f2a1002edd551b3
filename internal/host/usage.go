package host

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Usage is how full a file system is.
type Usage struct {
	Path   string // any path on it
	Size   uint64 // bytes
	Free   uint64 // bytes that programs without privileges may still use
	Inodes uint64 // 0 where the file system has no fixed number
	Unused uint64 // inodes
}

// LookUsage asks the file system that path is on.
func LookUsage(path string) (Usage, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(path, &stat); err != nil {
		return Usage{}, fmt.Errorf("asking how full %s is: %w", path, err)
	}
	block := uint64(stat.Bsize) //nolint:gosec // a block has a positive size
	return Usage{Path: path, Size: stat.Blocks * block, Free: stat.Bavail * block, Inodes: stat.Files, Unused: stat.Ffree}, nil
}

// MemoryAvailable is how much memory new programs can have without swapping,
// in KiB (MemAvailable of proc(5)), and how much the machine has; 0 when it is
// not known.
func MemoryAvailable() (available, total int64) {
	content, _ := os.ReadFile("/proc/meminfo") // zero is "not known"
	for line := range strings.Lines(string(content)) {
		if fields := strings.Fields(line); len(fields) >= 2 && fields[0] == "MemAvailable:" {
			available, _ = strconv.ParseInt(fields[1], 10, 64)
		}
	}
	return available, memTotal()
}

// Tasks is how many processes and threads there are, and how many there can
// be; 0 when it is not known.
func Tasks() (running, most int) {
	// The fourth field of loadavg is running/existing (proc(5)).
	if fields := strings.Fields(firstLine("/proc/loadavg")); len(fields) > 3 {
		_, existing, _ := strings.Cut(fields[3], "/")
		running, _ = strconv.Atoi(existing)
	}
	most, _ = strconv.Atoi(firstLine("/proc/sys/kernel/pid_max"))
	return running, most
}
