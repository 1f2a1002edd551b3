// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// KubeletDir is kubelet's directory.
const KubeletDir = "/var/lib/kubelet"

// FileSystem is a mounted file system.
type FileSystem struct {
	MountPoint string   // mount point
	Type       string   // xfs, ext4, ...
	Options    []string // mount and super block options
}

// FindFileSystem returns the file system of a path without links, which does not have to exist.
func FindFileSystem(path string) (FileSystem, error) {
	mounts, err := hostfs.ReadMounts()
	return fileSystemOf(mounts, path), err
}

// fileSystemOf returns the file system of a path. Of the mounts that contain it, the deepest is used; of several at the
// same mount point, the last.
func fileSystemOf(mounts []hostfs.Mount, path string) FileSystem {
	var found FileSystem
	for _, mount := range mounts {
		if hostfs.IsWithin(path, mount.Point) && len(mount.Point) >= len(found.MountPoint) {
			found = FileSystem{MountPoint: mount.Point, Type: mount.Type, Options: mount.Options}
		}
	}
	return found
}

// DanglingLinks returns the directories of a node that are symbolic links to a directory that does not exist, such as
// one on a disk that is not mounted.
func DanglingLinks(tree hostfs.Reader) []string {
	dirs := []string{
		KubeletDir, "/var/lib/containers", "/var/lib/cni", "/var/lib/ovn-ic", "/var/log/pods", "/etc/kubernetes", "/etc/cni",
		"/opt/cni",
	}
	return slices.DeleteFunc(dirs, func(dir string) bool {
		info, err := tree.Lstat(dir)
		if err != nil || info.Type != hostfs.Symlink {
			return true
		}
		_, err = tree.ReadDir(dir)
		return !hostfs.IsNotExist(err)
	})
}

// checkKubeletDirectory warns of symbolic links, which Kubernetes does not support (kubernetes pull request 96917), and
// refuses links with which kubelet or CRI-O cannot create their files.
func checkKubeletDirectory(f HostFacts) []report.Finding {
	if len(f.DanglingLinks) > 0 {
		return errorFinding("findmnt --fstab # mount the file system of the directory, or create it with mkdir",
			"symbolic links lead to directories that do not exist: %s", strings.Join(f.DanglingLinks, ", "))
	}
	if f.KubeletDirectory == "" || f.KubeletDirectory == KubeletDir {
		return nil
	}
	return warningFinding(report.Remedyf("# before the join, replace the link by a directory, and mount the other one "+
		"there with a line in /etc/fstab: %s %s none bind 0 0", f.KubeletDirectory, KubeletDir),
		"a symbolic link leads from %s to %s: kubelet is not meant to run so, and components that mount its directory "+
			"can fail", KubeletDir, f.KubeletDirectory)
}

// checkOverlaySize reports a payload with which CRI-O would not start. The storage library
// supports a size limit only on XFS with project quotas.
func checkOverlaySize(f PayloadFacts) []report.Finding {
	quota := slices.ContainsFunc(f.Storage.Options, func(option string) bool {
		return slices.Contains([]string{"prjquota", "pquota", "pqnoenforce"}, option)
	})
	if f.OverlaySize == "" || f.Storage.MountPoint == "" || (f.Storage.Type == "xfs" && quota) {
		return nil
	}
	const without = "# or remove overlaySize from the ContainerRuntimeConfig of the NodePool"
	what := fmt.Sprintf("the payload limits containers to %s (overlaySize), but the file system %s of CRI-O is ",
		f.OverlaySize, f.Storage.MountPoint)
	switch {
	case f.Storage.Type != "xfs":
		return errorFinding("# mount an XFS file system with the option pquota at /var/lib/containers\n"+without,
			"%s%s: CRI-O requires XFS with project quotas for this limit", what, f.Storage.Type)
	case f.Storage.MountPoint == "/":
		flags := report.ShellWord("rootflags=" + quotaFlags(f.Host.Cmdline))
		remedy := report.Remedyf("grubby --update-kernel=ALL --args=%s # then reboot this host\n"+without, flags)
		return errorFinding(remedy, "%smounted without project quotas: CRI-O would not start", what)
	}
	return errorFinding(report.Remedyf("findmnt --fstab %s # add pquota to the options in /etc/fstab, then reboot\n%s",
		f.Storage.MountPoint, without),
		"%smounted without project quotas: CRI-O would not start", what)
}

// quotaFlags returns the mount options of the root file system in a kernel command line, with project quotas. grubby
// replaces all of them.
func quotaFlags(cmdline []string) string {
	var options []string
	for _, word := range cmdline {
		if value, found := strings.CutPrefix(strings.Trim(word, `"`), "rootflags="); found {
			for option := range strings.SplitSeq(strings.Trim(value, `"`), ",") {
				if option != "" && option != "noquota" {
					options = lists.AppendMissing(options, option)
				}
			}
		}
	}
	return strings.Join(append(options, "pquota"), ",")
}
