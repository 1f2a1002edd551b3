package preflight

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
)

// FileSystem is a mounted file system.
type FileSystem struct {
	Point   string   // where it is mounted
	Type    string   // xfs, ext4, ...
	Options []string // of the mount and of the file system
}

// LookFileSystem finds the file system that a path is on, or will be on.
func LookFileSystem(path string) (FileSystem, error) {
	content, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return FileSystem{}, fmt.Errorf("reading the mounted file systems: %w", err)
	}
	return fileSystemOf(string(content), path), nil
}

// fileSystemOf reads proc_pid_mountinfo(5): of the mounts that hold the path,
// the last of the deepest counts.
func fileSystemOf(mountinfo, path string) FileSystem {
	var found FileSystem
	for line := range strings.Lines(mountinfo) {
		mount, system, separated := strings.Cut(line, " - ")
		fields, kind := strings.Fields(mount), strings.Fields(system)
		if !separated || len(fields) < 6 || len(kind) < 3 {
			continue
		}
		point := strings.ReplaceAll(fields[4], `\040`, " ")
		if host.Within(path, point) && len(point) >= len(found.Point) {
			options := append(strings.Split(fields[5], ","), strings.Split(kind[2], ",")...)
			found = FileSystem{Point: point, Type: kind[0], Options: options}
		}
	}
	return found
}

// checkOverlaySize finds that CRI-O would not start: the storage library
// supports a size on XFS with project quotas alone.
func checkOverlaySize(f AdmissionFacts) []Finding {
	quota := slices.ContainsFunc(f.Storage.Options, func(option string) bool {
		return slices.Contains([]string{"prjquota", "pquota", "pqnoenforce"}, option)
	})
	if f.OverlaySize == "" || f.Storage.Point == "" || (f.Storage.Type == "xfs" && quota) {
		return nil
	}
	const without = "# or remove overlaySize from the ContainerRuntimeConfig of the NodePool"
	what := fmt.Sprintf("the payload limits containers to %s (overlaySize), and %s, where CRI-O keeps them, is ", f.OverlaySize, f.Storage.Point)
	switch {
	case f.Storage.Type != "xfs":
		return fail("# mount an XFS file system with the option pquota at /var/lib/containers\n"+without,
			"%s%s: CRI-O does not start without XFS and project quotas", what, f.Storage.Type)
	case f.Storage.Point == "/":
		return fail("grubby --update-kernel=ALL --args=rootflags=pquota && reboot\n"+without,
			"%smounted without project quotas: CRI-O does not start", what)
	}
	return fail(fmt.Sprintf("findmnt --fstab %s # add pquota to its options in /etc/fstab, then reboot\n%s", f.Storage.Point, without),
		"%smounted without project quotas: CRI-O does not start", what)
}
