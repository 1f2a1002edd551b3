// SPDX-License-Identifier: Apache-2.0

package hostinfo

import (
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
)

// HasDevice reports whether a device of this host exists, such as /dev/disk/by-label/root.
func HasDevice(path string) bool { return fileExists(path) }

// DiskLink returns the link of udev to the block device with an identifier. The kind is label, uuid, partlabel or
// partuuid.
func DiskLink(kind, identifier string) string {
	return "/dev/disk/by-" + kind + "/" + udevName.Replace(identifier)
}

// udevName encodes a label as udev does in the names of its links.
var udevName = strings.NewReplacer(" ", `\x20`, "/", `\x2f`)

// HasFileSystem reports whether a whole file system is mounted at a path of this host. On a host in image mode, /var is
// a bind mount of a directory of the root file system.
func HasFileSystem(path string) bool {
	mounts, err := hostfs.ReadMounts()
	return err == nil && isMounted(mounts, path)
}

func isMounted(mounts []hostfs.Mount, path string) bool {
	return slices.ContainsFunc(mounts, func(mount hostfs.Mount) bool { return mount.Root == "/" && mount.Point == path })
}
