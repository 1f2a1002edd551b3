// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
)

func facts(t *testing.T) ovs.Facts {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "testdata", "dhcp.facts.json"))
	if err != nil {
		t.Fatal(err)
	}
	var f ovs.Facts
	if err := json.Unmarshal(content, &f); err != nil {
		t.Fatal(err)
	}
	return f
}

func bridged(t *testing.T) ovs.Facts {
	f := facts(t)
	f.OVS.Bridges = []openvswitch.Bridge{{
		Name: "br-ex", ExternalIDs: map[string]string{"bridge-uplink": "eth0"},
		Interfaces: []openvswitch.Interface{
			{Name: "br-ex", Type: "internal"},
			{Name: "patch-br-ex-to-br-int", Type: "patch"},
			{Name: "eth0", Type: "system"},
		},
	}}
	f.Links = append(f.Links,
		hostnet.Link{Name: "br-ex", Index: 9, Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.177/24")}})
	f.Routes = []hostnet.Route{{Link: "br-ex", Gateway: netip.MustParseAddr("192.0.2.1"), Metric: 48, Family: 4}}
	return f
}

func route(link string, family, metric int, gateway string) hostnet.Route {
	r := hostnet.Route{Link: link, Family: family, Metric: metric}
	if gateway != "" {
		r.Gateway = netip.MustParseAddr(gateway)
	}
	return r
}

func link(name string, index int, addresses ...string) hostnet.Link {
	l := hostnet.Link{Name: name, Index: index}
	for _, address := range addresses {
		l.Addresses = append(l.Addresses, netip.MustParsePrefix(address))
	}
	return l
}
