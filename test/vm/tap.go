// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"unsafe"
)

// tap is the host's end of the uplink. It exists as long as a process, finally only QEMU, has its
// file open.
type tap struct {
	name    string
	file    *os.File
	network Network
}

// newTap creates a tap and attaches it to the network's bridge. The device is created in this
// namespace and then moved. Its file remains valid, so QEMU need not run in the namespace.
func newTap(ctx context.Context, network Network) (*tap, error) {
	suffix := make([]byte, 4)
	_, _ = rand.Read(suffix) // never fails
	t := &tap{name: "vm" + hex.EncodeToString(suffix), network: network}
	// Not os.OpenFile: the runtime's poller cannot watch a tap without a name.
	fd, err := syscall.Open("/dev/net/tun", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening /dev/net/tun (needs root and the tun module): %w", err)
	}
	t.file = os.NewFile(uintptr(fd), t.name)
	// struct ifreq: the name, then the flags.
	var request struct {
		name  [syscall.IFNAMSIZ]byte
		flags uint16
		_     [22]byte
	}
	copy(request.name[:], t.name)
	const vnetHeader = 0x4000 // IFF_VNET_HDR, absent from syscall
	request.flags = syscall.IFF_TAP | syscall.IFF_NO_PI | vnetHeader
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), syscall.TUNSETIFF,
		uintptr(unsafe.Pointer(&request))); errno != 0 { //nolint:gosec // an ioctl takes a pointer
		t.file.Close()
		return nil, fmt.Errorf("making tap %s (needs root): %w", t.name, errno)
	}
	if err := t.attachBridge(ctx); err != nil {
		t.file.Close()
		return nil, err
	}
	return t, nil
}

func (t *tap) attachBridge(ctx context.Context) error {
	if err := run(ctx, "ip", "link", "set", "dev", t.name, "netns", t.network.Namespace); err != nil {
		return err
	}
	if err := t.plug(ctx); err != nil {
		return err
	}
	return t.setLink(ctx, true)
}

// setLink enables or disables the host's end of the cable.
func (t *tap) setLink(ctx context.Context, up bool) error {
	state := "down"
	if up {
		state = "up"
	}
	return t.network.ip(ctx, "link", "set", "dev", t.name, state)
}

// plug attaches the tap to the bridge or switch.
func (t *tap) plug(ctx context.Context) error {
	if t.network.Switch != nil {
		return t.network.Switch.Plug(ctx, t.name)
	}
	return t.network.ip(ctx, "link", "set", "dev", t.name, "master", t.network.Bridge)
}

// unplug detaches the tap from the bridge or switch; its carrier stays up.
func (t *tap) unplug(ctx context.Context) error {
	if t.network.Switch != nil {
		return t.network.Switch.Unplug(ctx, t.name)
	}
	return t.network.ip(ctx, "link", "set", "dev", t.name, "nomaster")
}

// ip runs ip(8) in the network's namespace.
func (n Network) ip(ctx context.Context, args ...string) error {
	return run(ctx, "nsenter", append([]string{"--net=" + n.Namespace, "ip"}, args...)...)
}

func run(ctx context.Context, name string, args ...string) error {
	if out, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("running %s %s: %w: %s", name, strings.Join(args, " "), err, out)
	}
	return nil
}
