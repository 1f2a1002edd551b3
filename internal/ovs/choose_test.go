package ovs

import (
	"net/netip"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
)

func route(link string, family, metric int, gateway string) host.Route {
	r := host.Route{Link: link, Family: family, Metric: metric}
	if gateway != "" {
		r.Gateway = netip.MustParseAddr(gateway)
	}
	return r
}

func TestChooseUplink(t *testing.T) {
	links := []host.Link{{Name: "eth0"}, {Name: "eth1"}, {Name: "eth10"}}
	tests := map[string]struct {
		facts   Facts
		options Options
		want    string
	}{
		"default route":       {Facts{Routes: []host.Route{route("eth1", 4, 100, "192.0.2.1")}}, Options{}, "eth1"},
		"lowest metric":       {Facts{Routes: []host.Route{route("eth0", 4, 101, ""), route("eth1", 4, 100, "")}}, Options{}, "eth1"},
		"first of equals":     {Facts{Routes: []host.Route{route("eth10", 4, 0, ""), route("eth1", 4, 0, "")}}, Options{}, "eth10"},
		"IPv4 before IPv6":    {Facts{Routes: []host.Route{route("eth0", 6, 1, ""), route("eth1", 4, 100, "")}}, Options{}, "eth1"},
		"IPv6 alone":          {Facts{Routes: []host.Route{route("eth0", 6, 1024, "")}}, Options{}, "eth0"},
		"hint over the route": {Facts{Hint: "eth10", Routes: []host.Route{route("eth1", 4, 100, "")}}, Options{}, "eth10"},
		"option over all":     {Facts{Hint: "eth10", Routes: []host.Route{route("eth1", 4, 100, "")}}, Options{BridgeInterface: "eth0"}, "eth0"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.facts.Links = links
			got, err := chooseUplink(test.facts, test.options)
			if err != nil || got != test.want {
				t.Errorf("chose %q, %v; want %q", got, err, test.want)
			}
		})
	}
}

func TestAutoconnectPriority(t *testing.T) {
	profile := func(id, kind, device string, priority int32) networkmanager.Profile {
		s := networkmanager.Settings{}
		s.Set("connection", "id", id)
		s.Set("connection", "uuid", "uuid of "+id)
		s.Set("connection", "type", kind)
		if device != "" {
			s.Set("connection", "interface-name", device)
		}
		s.Set("connection", "autoconnect-priority", priority)
		return networkmanager.Profile{Settings: s}
	}
	tests := map[string]struct {
		profiles []networkmanager.Profile
		want     int32
	}{
		"none":                    {nil, 100},
		"made up by itself":       {[]networkmanager.Profile{profile("a", "802-3-ethernet", "eth0", -999)}, 100},
		"higher than usual":       {[]networkmanager.Profile{profile("a", "802-3-ethernet", "eth0", 150)}, 151},
		"for any interface":       {[]networkmanager.Profile{profile("a", "802-3-ethernet", "", 200)}, 201},
		"for another interface":   {[]networkmanager.Profile{profile("a", "802-3-ethernet", "eth1", 200)}, 100},
		"of another kind":         {[]networkmanager.Profile{profile("a", "vlan", "", 200)}, 100},
		"highest, but not for us": {[]networkmanager.Profile{profile("a", "802-3-ethernet", "eth1", 999)}, 100},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := autoconnectPriority(Facts{Profiles: test.profiles}, "eth0", "802-3-ethernet")
			if err != nil || got != test.want {
				t.Errorf("%d, %v; want %d", got, err, test.want)
			}
		})
	}
}

// The address on br-ex has to be the one that the NIC had, whatever its
// identity was made from.
func TestKeepIPv6(t *testing.T) {
	const mac = "52:54:00:a1:26:b0"
	tests := map[string]struct {
		addresses, passing []string
		token              string
		eui64, refused     bool
	}{
		"no IPv6":                       {addresses: []string{"192.0.2.7/24"}},
		"hashed":                        {addresses: []string{"2001:db8::a1b2:c3d4:e5f6:718/64"}, eui64: true, token: "::a1b2:c3d4:e5f6:718"},
		"from the MAC":                  {addresses: []string{"2001:db8::5054:ff:fea1:26b0/64"}, eui64: true},
		"one host, two prefixes":        {addresses: []string{"2001:db8::5054:ff:fea1:26b0/64", "fd00::5054:ff:fea1:26b0/64"}, eui64: true},
		"a temporary one goes":          {addresses: []string{"2001:db8::1:2:3:4/64", "2001:db8::5054:ff:fea1:26b0/64"}, passing: []string{"2001:db8::1:2:3:4"}, eui64: true},
		"hashed for each of two":        {addresses: []string{"2001:db8::1:2:3:4/64", "fd00::5:6:7:8/64"}, refused: true},
		"from DHCPv6":                   {addresses: []string{"2001:db8::7/128"}, refused: true},
		"from DHCPv6, beside a usual /": {addresses: []string{"2001:db8::5054:ff:fea1:26b0/64", "2001:db8::7/128"}, refused: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			link := host.Link{Name: "eth0", MAC: mac}
			for _, address := range test.addresses {
				link.Addresses = append(link.Addresses, netip.MustParsePrefix(address))
			}
			for _, address := range test.passing {
				link.Passing = append(link.Passing, netip.MustParseAddr(address))
			}
			got, err := keepIPv6(link)
			if (err != nil) != test.refused {
				t.Fatalf("error %v, want one: %t", err, test.refused)
			}
			if err == nil && (got.token != test.token || got.eui64 != test.eui64) {
				t.Errorf("%+v, want token %q, eui64 %t", got, test.token, test.eui64)
			}
		})
	}
}
