// SPDX-License-Identifier: Apache-2.0

package hostinfo

import (
	"os"
	"strings"
)

// HasDevice reports whether a device of this host exists, such as /dev/disk/by-label/root.
func HasDevice(path string) bool { return fileExists(path) }

// HasFileSystem reports whether a whole file system is mounted at a path of this host. On a host in image mode, /var is
// a bind mount of a directory of the root file system.
func HasFileSystem(path string) bool {
	mountinfo, err := os.ReadFile("/proc/self/mountinfo")
	return err == nil && isMounted(string(mountinfo), path)
}

// isMounted parses proc_pid_mountinfo(5).
func isMounted(mountinfo, path string) bool {
	for line := range strings.Lines(mountinfo) {
		if fields := strings.Fields(line); len(fields) > 4 && fields[3] == "/" && fields[4] == path {
			return true
		}
	}
	return false
}
