// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// Addresses of the control channel, which must match the image: 10-control-channel.link has the
// MAC address, control-channel.service the guest's IP address.
const (
	controlMAC     = "52:54:00:c7:00:01"
	controlNetwork = "198.51.100.0/24"
	controlAddress = "198.51.100.15"
)

// controlBackend is the QEMU identifier of the control network.
const controlBackend = "control"

// hardware has QEMU's arguments. A saved state can only be loaded with the same arguments, apart
// from the paths of files.
type hardware struct {
	Config
	accel   accelerator
	disk    string
	seed    string // see Machine.Seed
	console string
	qmpFD   int
	tapFDs  []int // one for each uplink
	// missing are the uplinks whose network card is not plugged in.
	missing map[int]bool
	// incoming makes QEMU wait for a saved state instead of booting.
	incoming bool
}

// kernelArguments returns the kernel command line: root, console, and options for a fast and
// reproducible boot under emulation. The TSC is not used as clock, because it jumps when a
// snapshot is restored. Security modules are off by default: the guest's policy is not RHEL's,
// and its files are not labelled.
func (h hardware) kernelArguments() string {
	security := "lsm=yama" // selinux=0 does not disable SELinux if AppArmor is off
	if h.SELinux {
		security = "lsm=selinux selinux=1 enforcing=0"
	}
	return strings.Join(append([]string{
		"console=ttyS0", "quiet", "loglevel=3", "systemd.show_status=0",
		"net.ifnames=0", "mitigations=off", "nokaslr", "norandmaps", "random.trust_cpu=on", "tsc=unstable",
		"systemd.default_device_timeout_sec=15min", // by default, a boot beside other work ends in emergency mode
		security, "panic=10",
		"machine.hostname=" + h.Hostname,
	}, h.KernelArguments...), " ")
}

// arguments returns QEMU's command line arguments.
func (h hardware) arguments() []string {
	args := []string{
		"-name", h.Name,
		"-accel", h.accel.accel, "-cpu", h.accel.cpu, "-machine", "q35",
		"-smp", strconv.Itoa(h.CPUs), "-m", strconv.Itoa(h.MemoryMiB),
		"-nodefaults", "-no-user-config", "-display", "none",
		"-chardev", fmt.Sprintf("socket,id=qmp,fd=%d", h.qmpFD), "-mon", "chardev=qmp,mode=control",
		"-chardev", "file,id=console,append=on,path=" + escape(h.console), "-serial", "chardev:console",
		// unsafe only omits fsync on the host; see Machine.Kill.
		"-drive", "if=none,id=disk,format=qcow2,cache=unsafe,discard=unmap,file=" + escape(h.disk),
		"-device", "virtio-blk-pci,drive=disk",
	}
	args = append(args, h.boot()...)
	// The uplinks' network cards come first and become eth0, eth1, and so on.
	args = append(args, h.uplinks()...)
	args = append(args, h.controlCard()...)
	args = append(args,
		"-device", "virtio-rng-pci",
		"-drive", "if=none,id=seed,format=raw,readonly=on,file="+escape(h.seed),
		"-device", "virtio-blk-pci,drive=seed",
	)
	if h.incoming {
		args = append(args, "-incoming", "defer")
	}
	return args
}

// boot returns the arguments for the kernel, or those that the boot loader's guest needs.
func (h hardware) boot() []string {
	switch {
	case h.Disk == "":
		return []string{
			"-kernel", filepath.Join(h.Image, "vmlinux"),
			"-initrd", filepath.Join(h.Image, "initramfs.img"),
			"-append", h.kernelArguments(),
		}
	case h.Ignition:
		return []string{"-fw_cfg", "name=opt/com.coreos/config,file=" + escape(ignitionConfig(h.Image))}
	}
	return nil
}

// controlCard returns the arguments for the card of the control channel. In a foreign guest, it would be a second
// default route.
func (h hardware) controlCard() []string {
	if h.Disk != "" {
		return nil
	}
	return append(h.controlPort(),
		// restrict: the control channel cannot reach other networks.
		"-netdev", "user,id="+controlBackend+",restrict=on,ipv6=off,net="+controlNetwork+
			",hostfwd=tcp:127.0.0.1:0-"+controlAddress+":22",
		"-device", "virtio-net-pci,netdev="+controlBackend+",romfile=,mac="+controlMAC+h.controlSlot(),
	)
}

// escape escapes a path for QEMU's comma-separated options.
func escape(path string) string { return strings.ReplaceAll(path, ",", ",,") }
