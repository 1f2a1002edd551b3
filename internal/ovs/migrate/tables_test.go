// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"net/netip"
	"testing"

	"github.com/godbus/dbus/v5"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
)

func TestStaleTableRoutes(t *testing.T) {
	route := func(destination string, table, metric uint32) map[string]dbus.Variant {
		prefix := netip.MustParsePrefix(destination)
		data := map[string]dbus.Variant{
			"dest": dbus.MakeVariant(
				prefix.Addr().String(),
			), "prefix": dbus.MakeVariant(uint32(prefix.Bits())), //nolint:gosec // of a prefix
			"next-hop": dbus.MakeVariant("192.0.2.2"), "table": dbus.MakeVariant(table),
		}
		if metric > 0 {
			data["metric"] = dbus.MakeVariant(metric)
		}
		return data
	}
	profile := func(metric int64, routes ...map[string]dbus.Variant) networkmanager.Settings {
		s := networkmanager.Settings{}
		s.Set("ipv4", "route-metric", metric)
		s.Set("ipv4", "route-data", routes)
		return s
	}
	final := profile(48, route("10.0.0.0/8", 100, 0), route("10.1.0.0/16", 100, 70), route("10.2.0.0/16", 254, 0))
	copied := profile(450, route("10.0.0.0/8", 100, 0), route("10.1.0.0/16", 100, 70), route("10.2.0.0/16", 254, 350),
		route("10.3.0.0/16", 0, 0))
	want := []tableRoute{{
		networkmanager.Route{
			Destination: netip.MustParsePrefix("10.0.0.0/8"),
			Gateway:     netip.MustParseAddr("192.0.2.2"),
			Table:       100,
		}, 450,
	}}
	options := []cmp.Option{cmp.AllowUnexported(tableRoute{}), cmpopts.EquateComparable(netip.Prefix{}, netip.Addr{})}
	if diff := cmp.Diff(want, staleTableRoutes(copied, final), options...); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if left := staleTableRoutes(final, final); left != nil {
		t.Errorf("of the profile itself: %v", left)
	}
}
