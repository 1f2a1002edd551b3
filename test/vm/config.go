package vm

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
)

// Config describes a machine. Image and Network, or NICs, are needed, the rest
// has defaults.
type Config struct {
	// Image is the folder that test/image/build.sh prints.
	Image string
	// Network is where the uplink ends.
	Network Network
	// NICs are the cards eth0, eth1, ... of a machine with several uplinks,
	// instead of Network. They say 1000 Mb/s, full duplex, and can be put in
	// while the machine runs.
	NICs []NIC
	// Name tells machines apart; the uplink's MAC address follows from it.
	// Default worker-0.
	Name string
	// Hostname is written to /etc/hostname at the first boot. Default Name.
	Hostname string
	// MemoryMiB defaults to 2048, CPUs to 1: with two lanes on two cores, each
	// machine then has a core, and no time goes into keeping its CPUs in step.
	MemoryMiB, CPUs int
	// SELinux boots the kernel with SELinux, permissive, and the image's policy.
	// The image's tree is not labelled: that is the test's to do.
	SELinux bool
	// Dir holds the disk and the logs. Default is a temporary folder that
	// Close removes; in a given one Close leaves the logs.
	Dir string
}

// Network is the segment that a machine's uplink is plugged into. DHCP and DNS
// on it are the caller's.
type Network struct {
	// Namespace is a path by which the network namespace can be entered.
	Namespace string
	// Bridge is the name of a Linux bridge in it, or empty with a Switch.
	Bridge string
	// Switch is what the uplink is plugged into instead of a bridge.
	Switch Switch
}

// Switch is the socket of a switch in the namespace. It forwards frames and
// nothing else: a card on it has no offloads.
type Switch interface {
	// Plug makes the tap device of this name what is plugged in.
	Plug(ctx context.Context, tap string) error
	// Unplug leaves the socket empty.
	Unplug(ctx context.Context, tap string) error
}

// NIC is one of a machine's several cards.
type NIC struct {
	Network
	// Loose leaves the cable out, until Cable.Restore.
	Loose bool
}

// complete returns c with the defaults filled in, and with absolute paths, for
// QEMU stores them in its disks.
func (c Config) complete() (Config, error) {
	if c.Image == "" {
		return c, errors.New("vm: Config.Image is empty: give the folder that test/image/build.sh prints")
	}
	for _, nic := range c.nics() {
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
	if c.Image, err = filepath.Abs(c.Image); err != nil {
		return c, fmt.Errorf("finding the image: %w", err)
	}
	if c.Dir != "" {
		if c.Dir, err = filepath.Abs(c.Dir); err != nil {
			return c, fmt.Errorf("finding the machine's folder: %w", err)
		}
	}
	return c, nil
}

// nics are the machine's uplinks.
func (c Config) nics() []NIC {
	if len(c.NICs) > 0 {
		return c.NICs
	}
	return []NIC{{Network: c.Network}}
}

// mac is an uplink's address: QEMU's prefix, then what follows from the name,
// so that a machine gets the same lease each time.
func (c Config) mac(nic int) string {
	name := c.Name
	if nic > 0 {
		name += fmt.Sprintf("/%d", nic)
	}
	sum := sha256.Sum256([]byte(name))
	return fmt.Sprintf("52:54:00:%02x:%02x:%02x", sum[0], sum[1], sum[2])
}
