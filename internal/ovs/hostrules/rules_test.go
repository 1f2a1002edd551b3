// SPDX-License-Identifier: Apache-2.0

package hostrules

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
)

func TestSSHPorts(t *testing.T) {
	socket := func(address, process, service string) hostinfo.Socket {
		return hostinfo.Socket{Network: "tcp", Address: netip.MustParseAddrPort(address), Process: process, Service: service}
	}
	for name, test := range map[string]struct {
		sockets []hostinfo.Socket
		want    []uint16
	}{
		"none": {nil, []uint16{22}},
		"both families": {
			[]hostinfo.Socket{socket("0.0.0.0:22", "sshd", "sshd.service"), socket("[::]:22", "sshd", "sshd.service")},
			[]uint16{22},
		},
		"two ports": {
			[]hostinfo.Socket{socket("0.0.0.0:22", "sshd", ""), socket("0.0.0.0:2222", "sshd-real", "sshd.service")},
			[]uint16{22, 2222},
		},
		"other port": {
			[]hostinfo.Socket{socket("192.0.2.7:2222", "sshd", ""), socket("0.0.0.0:80", "httpd", "")}, []uint16{2222},
		},
		"socket unit": {[]hostinfo.Socket{socket("[::]:22", "systemd", "")}, []uint16{22}},
		"forwarding": {
			[]hostinfo.Socket{socket("127.0.0.1:6010", "sshd", ""), socket("0.0.0.0:2222", "sshd", "")}, []uint16{2222},
		},
	} {
		if got := sshPorts(test.sockets); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
}
