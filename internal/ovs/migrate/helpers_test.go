// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
)

// facts returns facts in the testdata of package ovs.
func facts(t *testing.T, name string) ovs.Facts {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "testdata", name+".facts.json"))
	if err != nil {
		t.Fatal(err)
	}
	var f ovs.Facts
	if err := json.Unmarshal(content, &f); err != nil {
		t.Fatal(err)
	}
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
