// SPDX-License-Identifier: Apache-2.0

package hostfs

import (
	"os"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/wrap"
)

// Mount is a mount of this host.
type Mount struct {
	Root    string   // directory of the file system that is mounted
	Point   string   // mount point
	Type    string   // of the file system: xfs, ext4, overlay, ...
	Options []string // of the mount and of the file system
}

// ReadMounts returns the mounts of this host, in the order of the kernel's table.
func ReadMounts() ([]Mount, error) {
	table, err := os.ReadFile("/proc/self/mountinfo")
	return ParseMounts(string(table)), wrap.Errorf(err, "reading mount table")
}

// ParseMounts parses proc_pid_mountinfo(5).
func ParseMounts(table string) []Mount {
	var mounts []Mount
	for line := range strings.Lines(table) {
		left, right, separated := strings.Cut(line, " - ")
		fields, system := strings.Fields(left), strings.Fields(right)
		if !separated || len(fields) < 6 || len(system) < 3 {
			continue
		}
		mounts = append(mounts, Mount{
			Root: UnescapeMount(fields[3]), Point: UnescapeMount(fields[4]), Type: system[0],
			Options: append(strings.Split(fields[5], ","), strings.Split(system[2], ",")...),
		})
	}
	return mounts
}

// mountEscapes decodes space, tab, newline, backslash and number sign.
var mountEscapes = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`, `\043`, "#")

// UnescapeMount decodes the escapes of a field of proc_pid_mountinfo(5) or fstab(5).
func UnescapeMount(field string) string { return mountEscapes.Replace(field) }
