// SPDX-License-Identifier: Apache-2.0

package hostnet

import (
	"fmt"
	"net/netip"
	"os/exec"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// Removed addresses are added again and are usable at once, and the route is
// removed at the end.
func TestAddressKeeper(t *testing.T) {
	if !namespaced(t) {
		return
	}
	for _, command := range []string{
		"ip link add up0 type veth peer name down0", "ip link set up0 up", "ip link set down0 up",
		"ip address add 2001:db8::7/64 dev up0 nodad", "ip -6 route add default via fe80::1 dev up0 metric 49",
	} {
		ip(t, command)
	}
	prefix := netip.MustParsePrefix("2001:db8::7/64")
	hold, err := StartAddressKeeper("up0", []netip.Prefix{prefix}, netip.MustParseAddr("fe80::1"), 49)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		ip(t, "ip -6 route del default")
		ip(t, "ip address del 2001:db8::7/64 dev up0")
		await(t, "the address", func() bool { return usable(t, "up0", prefix.Addr()) })
		await(t, "the route", func() bool { return len(defaults(t)) == 1 })
	}
	// If the process is killed before it can stop the AddressKeeper.
	if output, err := exec.CommandContext(t.Context(), "ip", "-6", "route", "show", "default").Output(); err != nil ||
		!strings.Contains(string(output), " expires ") {
		t.Errorf("the held route lasts for ever: %s, %v", output, err)
	}
	if err := hold.Stop(); err != nil {
		t.Error(err)
	}
	if routes := defaults(t); len(routes) != 0 {
		t.Errorf("it has left %v", routes)
	}
	output, err := exec.CommandContext(t.Context(), "ip", "-6", "route", "show", "2001:db8::/64").Output()
	if err != nil || len(output) != 0 {
		t.Errorf("it has left %s, %v", output, err)
	}
	ip(t, "ip address del 2001:db8::7/64 dev up0")
	// Another AddressKeeper has received the same changes when its address is usable again.
	another := netip.MustParsePrefix("2001:db8::8/64")
	sentinel, err := StartAddressKeeper("up0", []netip.Prefix{another}, netip.Addr{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	ip(t, "ip address del 2001:db8::8/64 dev up0")
	await(t, "the address of another AddressKeeper", func() bool { return usable(t, "up0", another.Addr()) })
	if err := sentinel.Stop(); err != nil {
		t.Error(err)
	}
	if usable(t, "up0", prefix.Addr()) {
		t.Error("it still holds the address after its end")
	}
}

func ip(t *testing.T, command string) {
	t.Helper()
	words := strings.Fields(command)
	if output, err := exec.CommandContext(t.Context(), words[0], words[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", command, err, output)
	}
}

func await(t *testing.T, what string, so func() bool) {
	t.Helper()
	waittest.Until(t, "waiting for "+what, func() (any, bool) {
		state, err := exec.CommandContext(t.Context(), "ip", "-6", "address").CombinedOutput()
		return fmt.Sprintf("%s, %v", state, err), so()
	})
}

// usable reports whether a link has an address for which duplicate address
// detection is finished.
func usable(t *testing.T, name string, address netip.Addr) bool {
	t.Helper()
	link, err := netlink.LinkByName(name)
	if err != nil {
		t.Fatal(err)
	}
	addresses, err := netlink.AddrList(link, netlink.FAMILY_V6)
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range addresses {
		if prefixOf(found.IPNet).Addr() == address && found.Flags&unix.IFA_F_TENTATIVE == 0 {
			return true
		}
	}
	return false
}

func defaults(t *testing.T) []Route {
	t.Helper()
	routes, err := DefaultRoutes()
	if err != nil {
		t.Fatal(err)
	}
	return routes
}
