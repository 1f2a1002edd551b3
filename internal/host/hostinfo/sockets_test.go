// SPDX-License-Identifier: Apache-2.0

package hostinfo

import (
	"net"
	"net/netip"
	"os"
	"slices"
	"testing"
)

func TestSockets(t *testing.T) {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	wanted := []netip.AddrPort{
		netip.MustParseAddrPort(tcp.Addr().String()), netip.MustParseAddrPort(udp.LocalAddr().String()),
	}
	sockets, err := Sockets(func(_ string, port int) bool {
		return slices.ContainsFunc(wanted, func(a netip.AddrPort) bool { return int(a.Port()) == port })
	})
	if err != nil {
		t.Fatal(err)
	}
	own := firstLine("/proc/self/comm")
	for i, network := range []string{"tcp", "udp"} {
		if !slices.ContainsFunc(sockets,
			func(s Socket) bool { return s.Network == network && s.Address == wanted[i] && s.Process == own }) {
			t.Errorf("no %s socket %s of process %s (%d) in %+v", network, wanted[i], own, os.Getpid(), sockets)
		}
	}
}

func TestParseSocket(t *testing.T) {
	const head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode"
	for name, test := range map[string]struct {
		line, want string
	}{
		"heading": {head, ""},
		"IPv4": {
			"   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4242 1",
			"127.0.0.1:8080 4242",
		},
		"IPv6": {
			"   1: B80D0120000000000000000001000000:280A 00000000000000000000000000000000:0000 0A 0:0 0:0 0 0 0 7 1",
			"[2001:db8::1]:10250 7",
		},
		"any address": {
			"   2: 00000000000000000000000000000000:0050 00000000000000000000000000000000:0000 0A 0:0 0:0 0 0 0 8 1",
			"[::]:80 8",
		},
		"connected": {"   3: 0100007F:1F90 0100007F:C001 01 0:0 0:0 0 0 0 9 1", ""},
		"truncated": {"   4: 0100007F:1F90 0100007F:C001 0A", ""},
	} {
		got := ""
		if socket, ok := parseSocket(test.line, "0A"); ok {
			got = socket.Address.String() + " " + socket.inode
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestParseCgroup(t *testing.T) {
	for content, want := range map[string]struct {
		service string
		pod     bool
	}{
		"0::/system.slice/kubelet.service":                               {"kubelet.service", false},
		"12:rdma:/\n5:pids:/system.slice/httpd.service\n0::/\n":          {"httpd.service", false},
		"0::/user.slice/user-1000.slice/session-3.scope":                 {"", false},
		"0::/kubepods.slice/kubepods-burstable.slice/crio-0a1b.scope":    {"", true},
		"0::/kubepods.slice/kubepods-pod1.slice/crio-1.scope/a.service/": {"a.service", true},
		"0::/kubepods/burstable/pod1/0a1b":                               {"", true},
		"":                                                               {"", false},
	} {
		if service, pod := parseCgroup(content); service != want.service || pod != want.pod {
			t.Errorf("%q: %q, %t; want %q, %t", content, service, pod, want.service, want.pod)
		}
	}
}
