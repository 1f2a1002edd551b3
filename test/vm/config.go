// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
)

// Config describes a machine. Image or Disk, and either Network or NICs are required.
type Config struct {
	// Image is the directory that test/image/build.sh prints.
	Image string
	// Disk is a qcow2 file with an operating system and its boot loader, such as the cloud image of a distribution, and
	// replaces Image. The machine boots it by its BIOS. It has no control channel: its only card is the uplink, on a
	// bridge. The first boot gets the host name and ssh keys from cloud-init, or from Ignition.
	Disk     string
	Ignition bool
	// Emulated prevents the use of KVM with Disk. With Image, the faster one is chosen.
	Emulated bool
	// Network is the network that the uplink is attached to.
	Network Network
	// NICs are the network cards eth0, eth1, and so on of a machine with several uplinks, and
	// replace Network. The cards report 1000 Mb/s, full duplex, and can be hot-plugged.
	NICs []NIC
	// Name identifies the machine; the uplink's MAC address is derived from it. Default:
	// worker-0.
	Name string
	// Hostname is written to /etc/hostname at the first boot. Default: Name.
	Hostname string
	// MemoryMiB defaults to 2048 and CPUs to 1. With two test runs on two cores, each machine
	// then has a core, and no time is spent on synchronizing virtual CPUs.
	MemoryMiB, CPUs int
	// SELinux boots the kernel with SELinux in permissive mode and the image's policy. The
	// image's files are not labelled; the test must label them.
	SELinux bool
	// KernelArguments are added to the kernel command line.
	KernelArguments []string
	// Dir is the directory of the disk and the logs. By default it is a temporary directory that
	// Close removes. In a given directory, Close keeps the logs.
	Dir string
}

// Network is a network segment for a machine's uplink. The caller must provide DHCP and DNS.
type Network struct {
	// Namespace is the path of the network namespace.
	Namespace string
	// Bridge is the name of a Linux bridge in the namespace; empty with a Switch.
	Bridge string
	// Switch is a switch port that the uplink is plugged into instead of a bridge.
	Switch Switch
}

// Switch is a port of a switch in the namespace. The switch only forwards frames, so a card that
// is plugged into it has no offloads.
type Switch interface {
	// Plug attaches the tap device to the port.
	Plug(ctx context.Context, tap string) error
	// Unplug detaches the tap device from the port.
	Unplug(ctx context.Context, tap string) error
}

// NIC is one of several network cards of a machine.
type NIC struct {
	Network
	// Unplugged leaves the cable unplugged until Cable.Restore.
	Unplugged bool
}

// withDefaults returns c with the defaults filled in. It makes paths absolute, because QEMU stores
// them in its disk images.
func (c Config) withDefaults() (Config, error) {
	if (c.Image == "") == (c.Disk == "") {
		return c, errors.New("vm: Config needs either Image, the directory that test/image/build.sh prints, or Disk")
	}
	for _, nic := range c.nics() {
		if c.Disk != "" && (len(c.NICs) > 0 || nic.Bridge == "") {
			return c, errors.New("vm: with Config.Disk, Config.Network needs a bridge")
		}
		if nic.Namespace == "" || (nic.Bridge == "") == (nic.Switch == nil) {
			return c, errors.New("vm: Config.Network needs a namespace, and either a bridge or a switch")
		}
	}
	if c.Name == "" {
		c.Name = "worker-0"
	}
	if c.Hostname == "" {
		c.Hostname = c.Name
	}
	if c.MemoryMiB == 0 {
		c.MemoryMiB = 2048
	}
	if c.CPUs == 0 {
		c.CPUs = 1
	}
	var err error
	image := &c.Image
	if c.Disk != "" {
		image = &c.Disk
	}
	if *image, err = filepath.Abs(*image); err != nil {
		return c, fmt.Errorf("finding the image: %w", err)
	}
	if c.Dir != "" {
		if c.Dir, err = filepath.Abs(c.Dir); err != nil {
			return c, fmt.Errorf("finding the machine's directory: %w", err)
		}
	}
	return c, nil
}

// nics returns the machine's uplinks.
func (c Config) nics() []NIC {
	if len(c.NICs) > 0 {
		return c.NICs
	}
	return []NIC{{Network: c.Network}}
}

// mac returns an uplink's MAC address: a local one from a hash of the name, so that a machine always gets the same
// lease. Each byte contains the hexadecimal digit e, which parsers of GVariant text can take for an exponent.
func (c Config) mac(nic int) string {
	name := c.Name
	if nic > 0 {
		name += fmt.Sprintf("/%d", nic)
	}
	sum := sha256.Sum256([]byte(name))
	return fmt.Sprintf("5e:%xe:%xe:%xe:%xe:%xe", sum[0]&0xf, sum[1]&0xf, sum[2]&0xf, sum[3]&0xf, sum[4]&0xf)
}
