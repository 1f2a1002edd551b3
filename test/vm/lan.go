// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/hcp-node-agent/hcp-node-agent/test/vm/internal/child"
)

// LAN is a network for machines that need no control plane. It is a namespace with a bridge that
// has the address 192.0.2.1/24, DHCP and DNS.
type LAN struct {
	Network
	holder, dnsmasq *child.Child
	dir             string
}

// NewLAN creates a LAN, which exists until Close or the end of this process.
func NewLAN(ctx context.Context) (*LAN, error) {
	l := &LAN{}
	if err := l.open(ctx); err != nil {
		l.Close()
		return nil, fmt.Errorf("making a LAN: %w", err)
	}
	return l, nil
}

func (l *LAN) open(ctx context.Context) error {
	var err error
	if l.dir, err = os.MkdirTemp("", "lan"); err != nil {
		return err
	}
	holder := exec.Command("sleep", "infinity")
	holder.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if l.holder, err = child.Start(holder); err != nil {
		return err
	}
	l.Network = Network{Namespace: fmt.Sprintf("/proc/%d/ns/net", holder.Process.Pid), Bridge: "lan"}
	for _, args := range [][]string{
		{"link", "set", "lo", "up"},
		// A bridge without a MAC address of its own takes the lowest one of its ports, so the
		// gateway's address would change with the machines.
		{"link", "add", l.Bridge, "address", "02:00:00:00:00:01", "type", "bridge"},
		{"address", "add", "192.0.2.1/24", "dev", l.Bridge},
		{"link", "set", l.Bridge, "up"},
	} {
		if err := l.ip(ctx, args...); err != nil {
			return err
		}
	}
	// Without --no-ping, dnsmasq delays each lease by three seconds for an echo.
	l.dnsmasq, err = child.Start(exec.Command("nsenter", "--net="+l.Namespace, "dnsmasq",
		// A change of the user or group would clear Pdeathsig.
		"--user=root", "--group=root",
		"--keep-in-foreground", "--conf-file=/dev/null", "--pid-file=",
		"--no-resolv", "--no-hosts", "--bind-interfaces", "--interface="+l.Bridge,
		"--dhcp-authoritative", "--no-ping", "--dhcp-range=192.0.2.100,192.0.2.199,24h",
		"--dhcp-leasefile="+filepath.Join(l.dir, "leases"), "--log-facility="+filepath.Join(l.dir, "log")))
	return err
}

// Close removes the LAN. Machines that are attached to it lose their uplink.
func (l *LAN) Close() error {
	for _, c := range []*child.Child{l.dnsmasq, l.holder} {
		if c != nil {
			c.Kill()
		}
	}
	return os.RemoveAll(l.dir)
}
