// SPDX-License-Identifier: Apache-2.0

package hostnet

import (
	"context"
	"fmt"
	"net/netip"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// namespace starts a process in a new network namespace and returns a function that runs shell commands there, and the
// PID of the process, to which links can be moved.
func namespace(t *testing.T) (run func(script string), pid int) {
	t.Helper()
	holder := exec.CommandContext(t.Context(), "sleep", "infinity")
	holder.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET, Pdeathsig: unix.SIGKILL}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = holder.Process.Kill()
		_ = holder.Wait()
	})
	return func(script string) {
		t.Helper()
		command := exec.CommandContext(t.Context(), "nsenter", "--net", fmt.Sprintf("--target=%d", holder.Process.Pid), "sh",
			"-ec", script)
		if output, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", script, err, output)
		}
	}, holder.Process.Pid
}

// connectPeer connects this namespace through another one to a peer. The link to the peer carries 1400 bytes. A router
// reports that packets are too large, a bridge drops them.
func connectPeer(t *testing.T, isRouter bool) {
	t.Helper()
	// Addresses are usable at once.
	const withoutDAD = "for c in all default; do echo 0 >/proc/sys/net/ipv6/conf/$c/accept_dad; done"
	between, betweenPID := namespace(t)
	peer, peerPID := namespace(t)
	between(withoutDAD)
	peer(withoutDAD)
	if output, err := exec.CommandContext(t.Context(), "sh", "-ec", withoutDAD).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	ip(t, fmt.Sprintf("ip link add up0 type veth peer name down0 netns %d", betweenPID))
	between(fmt.Sprintf("ip link add right0 type veth peer name up0 netns %d", peerPID))
	ip(t, "ip link set up0 up")
	between("ip link set down0 up; ip link set right0 mtu 1400 up")
	peer("ip link set up0 up")
	if !isRouter {
		between("ip link add br0 type bridge; ip link set down0 master br0; ip link set right0 master br0; " +
			"ip link set br0 up")
		ip(t, "ip address add 192.0.2.1/24 dev up0")
		ip(t, "ip address add 2001:db8::1/64 dev up0 nodad")
		peer("ip address add 192.0.2.9/24 dev up0; ip address add 2001:db8::9/64 dev up0 nodad")
		return
	}
	between("echo 1 >/proc/sys/net/ipv4/ip_forward; echo 1 >/proc/sys/net/ipv6/conf/all/forwarding")
	ip(t, "ip address add 198.51.100.1/24 dev up0")
	ip(t, "ip address add 2001:db8:1::1/64 dev up0 nodad")
	between("ip address add 198.51.100.254/24 dev down0; ip address add 2001:db8:1::fe/64 dev down0 nodad; " +
		"ip address add 192.0.2.254/24 dev right0; ip address add 2001:db8::fe/64 dev right0 nodad")
	peer("ip address add 192.0.2.9/24 dev up0; ip address add 2001:db8::9/64 dev up0 nodad; " +
		"ip route add default via 192.0.2.254; ip route add default via 2001:db8::fe")
	ip(t, "ip route add default via 198.51.100.254")
	ip(t, "ip route add default via 2001:db8:1::fe")
}

func TestMeasurePathMTU(t *testing.T) {
	t.Parallel()
	if !namespaced(t) {
		return
	}
	connectPeer(t, true)
	measurePaths(t)
	measurePaths(t) // again, with what the kernel has learned
	for _, target := range []string{"192.0.2.9", "2001:db8::9"} {
		known, err := KnownPathMTU(t.Context(), netip.AddrPortFrom(netip.MustParseAddr(target), 6443).String())
		if err != nil || known != 1400 {
			t.Errorf("known MTU of the path to %s: %d, %v, want that of the router's message", target, known, err)
		}
	}
	// The link of this host limits the packets, too.
	got, err := MeasurePathMTU(t.Context(), netip.MustParseAddr("198.51.100.254"), 1600)
	if want := (PathMTU{Responds: true, Bytes: 1500}); err != nil || got != want {
		t.Errorf("own link: %+v, %v, want %+v", got, err, want)
	}
}

// No router reports that the packets are too large.
func TestMeasurePathMTUOfBlackHole(t *testing.T) {
	t.Parallel()
	if !namespaced(t) {
		return
	}
	connectPeer(t, false)
	measurePaths(t)
	known, err := KnownPathMTU(t.Context(), "192.0.2.9:6443")
	if err != nil || known != 1500 {
		t.Errorf("known MTU: %d, %v, want that of the link", known, err)
	}
}

func measurePaths(t *testing.T) {
	t.Helper()
	var group sync.WaitGroup
	defer group.Wait()
	for _, test := range []struct {
		target string
		size   int
		want   PathMTU
	}{
		{"192.0.2.9", 1458, PathMTU{Responds: true, Bytes: 1400}},
		{"192.0.2.9", 1400, PathMTU{Responds: true, Bytes: 1400}},
		{"2001:db8::9", 1478, PathMTU{Responds: true, Bytes: 1400}},
		{"2001:db8::9", 1380, PathMTU{Responds: true, Bytes: 1380}},
		{"192.0.2.77", 1458, PathMTU{}}, // no host
		{"203.0.113.1", 1458, PathMTU{}},
	} {
		group.Go(func() {
			var got PathMTU
			var err error
			for range 5 { // a busy host can be too late for some replies
				got, err = MeasurePathMTU(t.Context(), netip.MustParseAddr(test.target), test.size)
				if err != nil || got == test.want {
					break
				}
			}
			if err != nil || got != test.want {
				t.Errorf("%s, %d bytes: %+v, %v, want %+v", test.target, test.size, got, err, test.want)
			}
		})
	}
}

func TestMeasurePathMTUEndsWithContext(t *testing.T) {
	if !namespaced(t) {
		return
	}
	connectPeer(t, false)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := MeasurePathMTU(ctx, netip.MustParseAddr("192.0.2.9"), 1458); err == nil ||
		!strings.Contains(err.Error(), "canceled") {
		t.Errorf("%+v, %v, want the error of the context", got, err)
	}
}
