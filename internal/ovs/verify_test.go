package ovs

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
)

func TestLacks(t *testing.T) {
	m := Move{
		Gateway: netip.MustParseAddr("192.0.2.1"), Stable: []netip.Addr{netip.MustParseAddr("192.0.2.177")},
		Nameservers: []netip.Addr{netip.MustParseAddr("192.0.2.53")},
	}
	good := func() Facts {
		return Facts{
			Links:  []host.Link{link("br-ex", 9, "192.0.2.177/24")},
			Routes: []host.Route{route("br-ex", 4, 48, "192.0.2.1")},
			Devices: []networkmanager.Device{{
				Name: "br-ex", Type: networkmanager.OVSInterface, IPv4: networkmanager.IPv4{Nameservers: m.Nameservers},
			}},
		}
	}
	tests := map[string]struct {
		change func(*Facts)
		want   string // "": nothing
	}{
		"all there":           {func(*Facts) {}, ""},
		"no link":             {func(f *Facts) { f.Links = nil }, "no such interface"},
		"another address":     {func(f *Facts) { f.Links[0] = link("br-ex", 9, "192.0.2.178/24") }, "192.0.2.177 is not there (it has 192.0.2.178/24)"},
		"no default route":    {func(f *Facts) { f.Routes = nil }, "default route"},
		"route still by NIC":  {func(f *Facts) { f.Routes = append(f.Routes, route("eth0", 4, 10, "192.0.2.1")) }, "default route"},
		"another gateway":     {func(f *Facts) { f.Routes[0].Gateway = netip.MustParseAddr("192.0.2.2") }, "default route"},
		"name server is gone": {func(f *Facts) { f.Devices[0].IPv4.Nameservers = nil }, "name server 192.0.2.53"},
		"one more name server": {func(f *Facts) {
			f.Devices[0].IPv4.Nameservers = append(f.Devices[0].IPv4.Nameservers, netip.MustParseAddr("192.0.2.54"))
		}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := good()
			test.change(&f)
			got := lacks(f, m, "br-ex")
			if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("lacks %q, want %q", got, test.want)
			}
		})
	}
}

func TestReach(t *testing.T) {
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
	nobody := closed.Addr().String()
	closed.Close()

	tests := map[string]struct {
		reach Reach
		ok    bool
	}{
		"TCP":        {Reach{Name: "a", Address: address}, true},
		"TLS":        {Reach{Name: "a", Address: address, TLS: trusting}, true},
		"wrong name": {Reach{Name: "a", Address: address, TLS: stranger}, false},
		"nobody":     {Reach{Name: "a", Address: nobody}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := test.reach.connect(context.Background())
			if (err == nil) != test.ok {
				t.Errorf("reached: %v, want %t", err, test.ok)
			}
		})
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	err = (&Driver{}).reachable(ctx, []Reach{{Name: "the API server", Address: nobody}, {Name: "b", Address: address}})
	if err == nil || !strings.Contains(err.Error(), "the API server ("+nobody+") does not answer") {
		t.Errorf("says %v", err)
	}
}
