package vm

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// The control channel's side of the bargain with the image: the card's address
// is in its 10-control-channel.link, the guest's in its control-channel.service.
const (
	controlMAC     = "52:54:00:c7:00:01"
	controlNetwork = "198.51.100.0/24"
	controlAddress = "198.51.100.15"
)

// controlBackend is the name that QEMU's monitor knows the control network by.
const controlBackend = "control"

// hardware is what QEMU is told to build. What a live state can be loaded into
// again is exactly what has the same arguments, apart from the files.
type hardware struct {
	Config
	accel   accelerator
	disk    string
	seed    string // see Machine.Seed
	console string
	qmpFD   int
	tapFDs  []int // one for each uplink
	// missing are the uplinks whose card is not in its slot.
	missing map[int]bool
	// incoming makes QEMU wait for a live state instead of booting.
	incoming bool
}

// kernelArguments: root and console, and what makes a boot under emulation
// quick and equal each time. The TSC is no clock here: it jumps when a snapshot
// is restored. The security modules are off unless asked for: the
// guest's policy is not RHEL's, and its tree is not labelled.
func (h hardware) kernelArguments() string {
	security := "lsm=yama" // selinux=0 leaves SELinux on as soon as AppArmor is off
	if h.SELinux {
		security = "lsm=selinux selinux=1 enforcing=0"
	}
	return strings.Join([]string{
		"console=ttyS0", "quiet", "loglevel=3", "systemd.show_status=0",
		"net.ifnames=0", "mitigations=off", "nokaslr", "random.trust_cpu=on", "tsc=unstable",
		security, "panic=10",
		"machine.hostname=" + h.Hostname,
	}, " ")
}

// arguments are QEMU's.
func (h hardware) arguments() []string {
	args := []string{
		"-name", h.Name,
		"-accel", h.accel.accel, "-cpu", h.accel.cpu, "-machine", "q35",
		"-smp", strconv.Itoa(h.CPUs), "-m", strconv.Itoa(h.MemoryMiB),
		"-nodefaults", "-no-user-config", "-display", "none",
		"-chardev", fmt.Sprintf("socket,id=qmp,fd=%d", h.qmpFD), "-mon", "chardev=qmp,mode=control",
		"-chardev", "file,id=console,append=on,path=" + escape(h.console), "-serial", "chardev:console",
		"-kernel", filepath.Join(h.Image, "vmlinux"),
		"-initrd", filepath.Join(h.Image, "initramfs.img"),
		"-append", h.kernelArguments(),
		// unsafe only spares the host's own fsync; see Machine.Kill.
		"-drive", "if=none,id=disk,format=qcow2,cache=unsafe,discard=unmap,file=" + escape(h.disk),
		"-device", "virtio-blk-pci,drive=disk",
	}
	// The uplinks' cards come first: they become eth0, eth1, ...
	args = append(args, h.uplinks()...)
	args = append(args, h.controlPort()...)
	args = append(args,
		// restrict: nothing leaves through the control channel.
		"-netdev", "user,id="+controlBackend+",restrict=on,ipv6=off,net="+controlNetwork+
			",hostfwd=tcp:127.0.0.1:0-"+controlAddress+":22",
		"-device", "virtio-net-pci,netdev="+controlBackend+",romfile=,mac="+controlMAC+h.controlSlot(),
		"-device", "virtio-rng-pci",
		"-drive", "if=none,id=seed,format=raw,readonly=on,file="+escape(h.seed),
		"-device", "virtio-blk-pci,drive=seed",
	)
	if h.incoming {
		args = append(args, "-incoming", "defer")
	}
	return args
}

// escape makes a path safe within one of QEMU's comma-separated options.
func escape(path string) string { return strings.ReplaceAll(path, ",", ",,") }
