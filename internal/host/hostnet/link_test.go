// SPDX-License-Identifier: Apache-2.0

package hostnet

import (
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// namespaced reports whether the test runs in its own network namespace.
// Otherwise it runs the test again in one, as a separate process, because only
// a whole process can enter a namespace.
func namespaced(t *testing.T) bool {
	t.Helper()
	const inside = "HOST_TEST_NAMESPACE"
	if os.Getenv(inside) == t.Name() {
		return true
	}
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	command.Env = append(os.Environ(), inside+"="+t.Name())
	command.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET}
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	return false
}

func TestLinkBelowAnother(t *testing.T) {
	if !namespaced(t) {
		return
	}
	ip(t, "ip link add up0 type veth peer name down0")
	ip(t, "ip link add lab0 link up0 type macvlan")
	links, err := Links()
	if err != nil {
		t.Fatal(err)
	}
	named := func(name string) Link {
		return links[slices.IndexFunc(links, func(l Link) bool { return l.Name == name })]
	}
	if upper := named("lab0"); upper.Parent != named("up0").Index || !upper.SharesParent() {
		t.Errorf("%+v", upper)
	}
}

// Egress addresses of pods are not addresses of the node.
func TestLinkAddresses(t *testing.T) {
	if !namespaced(t) {
		return
	}
	for _, command := range []string{
		"ip link add up0 type veth peer name down0", "ip link set up0 up",
		"ip address add 192.0.2.9/32 dev up0 label up0eip", "ip address add 192.0.2.7/24 dev up0",
		"ip address add 2001:db8::8/64 dev up0 nodad preferred_lft 0", "ip address add 2001:db8::7/64 dev up0 nodad",
	} {
		ip(t, command)
	}
	links, err := Links()
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(links, func(l Link) bool { return l.Name == "up0" })
	want := []netip.Prefix{netip.MustParsePrefix("192.0.2.7/24"), netip.MustParsePrefix("2001:db8::7/64")}
	if got := links[at].Stable(); len(links[at].Addresses) != 4 || !slices.Equal(got, want) {
		t.Errorf("lasting %v of %v, want %v", got, links[at].Addresses, want)
	}
}

func TestLinkByPermanentMAC(t *testing.T) {
	const mac = "52:54:00:A1:26:B0"
	nic := func(name, mac string) Link { return Link{Name: name, PermanentMAC: mac} }
	for want, links := range map[string][]Link{
		"lan0": {nic("lo", ""), nic("eth0", "52:54:00:a1:26:b1"), nic("lan0", "52:54:00:a1:26:b0")},
		"":     {nic("lan0", mac), nic("lan1", mac)},
	} {
		if got, ok := LinkByPermanentMAC(links, mac); got.Name != want || ok != (want != "") {
			t.Errorf("%q, want %q", got.Name, want)
		}
	}
}

func TestStable(t *testing.T) {
	link := Link{
		Addresses: []netip.Prefix{
			netip.MustParsePrefix("2001:db8::1/64"),
			netip.MustParsePrefix("2001:db8::2/64"),
			netip.MustParsePrefix("192.0.2.7/24"),
		},
		Transient: []netip.Addr{netip.MustParseAddr("2001:db8::2")},
	}
	want := []netip.Prefix{netip.MustParsePrefix("2001:db8::1/64"), netip.MustParsePrefix("192.0.2.7/24")}
	if got := link.Stable(); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
