// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/packetfilter"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

func TestMissing(t *testing.T) {
	servers := []netip.Addr{netip.MustParseAddr("192.0.2.53"), netip.MustParseAddr("2001:db8::53")}
	c := ovs.AddressState{
		Addresses:   []netip.Addr{netip.MustParseAddr("192.0.2.177"), netip.MustParseAddr("2001:db8::7")},
		Nameservers: servers, SearchDomains: []string{"example.test"}, MTU: 1400,
		DefaultRoutes:      []hostnet.Route{route("eth0", 4, 100, "192.0.2.1"), route("eth0", 6, 100, "fe80::1")},
		OtherDefaultRoutes: []hostnet.Route{route("eth1", 4, 101, "198.51.100.1")},
	}
	good := func() ovs.Facts {
		f := ovs.Facts{
			Links: []hostnet.Link{link("br-ex", 9, "192.0.2.177/24", "2001:db8::7/64")},
			Routes: []hostnet.Route{
				route("br-ex", 4, 48, "192.0.2.1"), route("br-ex", 6, 48, "fe80::1"), route("eth1", 4, 102, "198.51.100.1"),
			},
			Devices: []networkmanager.Device{{
				Name: "br-ex", Type: networkmanager.OVSInterface,
				IPv4: networkmanager.IP{Nameservers: servers[:1], SearchDomains: c.SearchDomains},
				IPv6: networkmanager.IP{Nameservers: servers[1:]},
			}},
		}
		f.Links[0].MTU = 1400
		return f
	}
	tests := map[string]struct {
		change func(*ovs.Facts)
		want   string // "": nothing
	}{
		"all there": {func(*ovs.Facts) {}, ""},
		"no link":   {func(f *ovs.Facts) { f.Links = nil }, "the interface does not exist"},
		"another address": {
			func(f *ovs.Facts) { f.Links[0].Addresses[0] = netip.MustParsePrefix("192.0.2.178/24") },
			"192.0.2.177 is missing (current addresses: 192.0.2.178/24",
		},
		"no IPv6": {
			func(f *ovs.Facts) { f.Links[0].Addresses = f.Links[0].Addresses[:1] },
			"2001:db8::7 is missing",
		},
		"no default route": {func(f *ovs.Facts) { f.Routes = f.Routes[1:] }, "no preferred default route via 192.0.2.1"},
		"no IPv6 route": {
			func(f *ovs.Facts) { f.Routes = append(f.Routes[:1], f.Routes[2]) },
			"no preferred default route via fe80::1",
		},
		"route still by NIC": {
			func(f *ovs.Facts) { f.Routes = append(f.Routes, route("eth0", 4, 10, "192.0.2.1")) },
			"default route",
		},
		"another gateway": {
			func(f *ovs.Facts) { f.Routes[0].Gateway = netip.MustParseAddr("192.0.2.2") },
			"default route",
		},
		"second router first": {
			func(f *ovs.Facts) { f.Routes = append([]hostnet.Route{route("br-ex", 6, 48, "fe80::2")}, f.Routes...) },
			"",
		},
		"another router better": {
			func(f *ovs.Facts) { f.Routes = append(f.Routes, route("br-ex", 6, 47, "fe80::2")) },
			"no preferred default route via fe80::1",
		},
		"by NIC as well": {
			func(f *ovs.Facts) { f.Routes = append([]hostnet.Route{route("eth0", 6, 48, "fe80::2")}, f.Routes...) },
			"no preferred default route via fe80::1",
		},
		"other route is gone":   {func(f *ovs.Facts) { f.Routes = f.Routes[:2] }, "over eth1 is missing"},
		"another MTU":           {func(f *ovs.Facts) { f.Links[0].MTU = 1500 }, "MTU is 1500 instead of 1400"},
		"name server is gone":   {func(f *ovs.Facts) { f.Devices[0].IPv4.Nameservers = nil }, "name server 192.0.2.53"},
		"IPv6 server is gone":   {func(f *ovs.Facts) { f.Devices[0].IPv6.Nameservers = nil }, "name server 2001:db8::53"},
		"search domain is gone": {func(f *ovs.Facts) { f.Devices[0].IPv4.SearchDomains = nil }, "search domain example.test"},
		"one more name server": {func(f *ovs.Facts) {
			f.Devices[0].IPv4.Nameservers = append(f.Devices[0].IPv4.Nameservers[:1:1], netip.MustParseAddr("192.0.2.54"))
		}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := good()
			test.change(&f)
			got := c.Missing(f, "br-ex")
			if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("lacks %q, want %q", got, test.want)
			}
		})
	}
	// A default route without a gateway, as over a point-to-point link.
	f := good()
	c = ovs.AddressState{DefaultRoutes: []hostnet.Route{route("eth0", 4, 100, "")}}
	if got := c.Missing(f, "br-ex"); !strings.Contains(got, "no preferred IPv4 default route") {
		t.Errorf("with a gateway that was not there: %q", got)
	}
	f.Routes[0].Gateway = netip.Addr{}
	if got := c.Missing(f, "br-ex"); got != "" {
		t.Errorf("without a gateway: %q", got)
	}
}

// A host that had no default route is restored without one.
func TestUnusable(t *testing.T) {
	routed := ovs.AddressState{
		DefaultRoutes: []hostnet.Route{route("br-ex", 4, 48, "192.0.2.1"), route("br-ex", 6, 48, "fe80::1")},
	}
	addressed := ovs.Facts{Links: []hostnet.Link{link("eth0", 2, "192.0.2.177/24")}}
	one := addressed
	one.Routes = []hostnet.Route{route("eth1", 4, 100, "192.0.2.1"), route("eth0", 6, 100, "fe80::2")}
	for name, test := range map[string]struct {
		carried ovs.AddressState
		facts   ovs.Facts
		want    string
	}{
		"no link":                  {routed, ovs.Facts{}, "the interface has no address"},
		"no route":                 {routed, addressed, "the interface has no default route"},
		"a route of one family":    {routed, one, ""},
		"no route, as before":      {ovs.AddressState{}, addressed, ""},
		"no address and no routes": {ovs.AddressState{}, ovs.Facts{}, "the interface has no address"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.carried.Unusable(test.facts, "eth0"); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

func TestEndpointConnect(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	trusting := server.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	trusting.ServerName = "example.com" // the name in httptest's certificate
	stranger := trusting.Clone()
	stranger.ServerName = "other.test"
	address := server.Listener.Addr().String()

	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	unused := closed.Addr().String()
	closed.Close()

	tests := map[string]struct {
		reach Endpoint
		ok    bool
	}{
		"TCP":        {Endpoint{Name: "a", Address: address}, true},
		"TLS":        {Endpoint{Name: "a", Address: address, TLS: trusting}, true},
		"wrong name": {Endpoint{Name: "a", Address: address, TLS: stranger}, false},
		"nobody":     {Endpoint{Name: "a", Address: unused}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := test.reach.Connect(context.Background())
			if (err == nil) != test.ok {
				t.Errorf("reached: %v, want %t", err, test.ok)
			}
		})
	}
	b, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	ctx, pass := waittest.Deadline(t, "waiting for a connection to b", nil)
	go func() {
		if _, err := b.Accept(); err == nil {
			pass()
		}
	}()
	err = (&Driver{}).checkEndpoints(ctx,
		[]Endpoint{{Name: "the API server", Address: unused}, {Name: "b", Address: b.Addr().String()}})
	if err == nil || !strings.Contains(err.Error(), "the API server ("+unused+") is unreachable") {
		t.Errorf("says %v", err)
	}
}

// The rules that are loaded after the change decide, whatever they were before.
func TestCheckAccess(t *testing.T) {
	if _, err := exec.LookPath("nft"); err != nil || os.Geteuid() != 0 {
		t.Skip("a network namespace with rules needs root and nft (Debian: apt-get install nftables)")
	}
	runtime.LockOSThread() // the thread ends with the test
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Fatal(err)
	}
	m := &migration{Driver: &Driver{}, Migration: ovs.Migration{Access: []packetfilter.Connection{
		{Link: "br-ex", Address: netip.MustParseAddr("192.0.2.177"), Port: 2222},
	}}}
	for _, step := range []struct{ rules, want string }{
		{"", ""},
		{"table inet f { chain c { type filter hook input priority 0; policy drop; iifname eth0 accept; }; }", "port 2222"},
		{"insert rule inet f c iifname br-ex tcp dport 2222 accept", ""},
	} {
		command := exec.CommandContext(t.Context(), "nft", "-f", "-")
		command.Stdin = strings.NewReader(step.rules)
		if output, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, output)
		}
		err := m.checkAccess(t.Context())
		if (err == nil) != (step.want == "") || err != nil && !strings.Contains(err.Error(), step.want) {
			t.Errorf("after %q: %v", step.rules, err)
		}
	}
}
