package host

import (
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// namespaced tells whether the test runs in a network namespace of its own;
// where it does not, it runs the test once more in one, in a process of its own
// because only a whole process can enter one.
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

// Of a node's addresses, those that pods leave the cluster by are not its own.
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
	if got := links[at].Lasting(); len(links[at].Addresses) != 4 || !slices.Equal(got, want) {
		t.Errorf("lasting %v of %v, want %v", got, links[at].Addresses, want)
	}
}
