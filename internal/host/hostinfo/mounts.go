// SPDX-License-Identifier: Apache-2.0

package hostinfo

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
)

// HasDevice reports whether a device of this host exists, such as /dev/disk/by-label/root.
func HasDevice(path string) bool { return fileExists(path) }

// HasContent reports whether a block device has a file system, partitions, or a part of RAID, LVM or an encrypted
// device.
func HasContent(ctx context.Context, device string) bool {
	_, err := command.Run(ctx, "blkid", "--probe", device)
	failed := (*command.Error)(nil)
	const ambivalent = 8 // several signatures
	return err == nil || (errors.As(err, &failed) && failed.Code == ambivalent)
}

// DeviceOf returns the path of the block device that the source of a mount names, "" for another source. The forms are
// those of fstab(5), which systemd.mount(5) shares.
func DeviceOf(source string) string {
	tag, value, _ := strings.Cut(source, "=")
	switch {
	case slices.Contains([]string{"UUID", "LABEL", "PARTUUID", "PARTLABEL"}, tag):
		return DiskLink(strings.ToLower(tag), hostfs.UnescapeMount(strings.Trim(value, `"`)))
	case strings.HasPrefix(source, "/dev/"):
		return source
	}
	return ""
}

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
