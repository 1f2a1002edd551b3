// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"cmp"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
)

// tableRoute is a route in a table other than the main one.
type tableRoute struct {
	networkmanager.Route
	metric int
}

// staleTableRoutes returns the routes in other tables that only the static settings
// have, with metrics of their own. NetworkManager adds routes to such tables,
// and does not remove them with the profile's entry (route-table 0 syncs only
// the main table).
func staleTableRoutes(copied, final networkmanager.Settings) []tableRoute {
	var stale []tableRoute
	for _, family := range networkmanager.Families() {
		kept := routesInTables(final, family)
		stale = append(stale, slices.DeleteFunc(routesInTables(copied, family), func(route tableRoute) bool {
			return slices.Contains(kept, route)
		})...)
	}
	return stale
}

func routesInTables(s networkmanager.Settings, family networkmanager.Family) []tableRoute {
	const mainTable = 254
	var routes []tableRoute
	for _, route := range s.Routes(family) {
		if route.Table == 0 || route.Table == mainTable {
			continue
		}
		metric := cmp.Or(int(route.Metric), int(s.Int64(family.Section(), "route-metric")))
		route.Metric = 0
		routes = append(routes, tableRoute{route, metric})
	}
	return routes
}

// removeStaleTableRoutes removes the routes that the static settings have left in other
// tables.
func (m *migration) removeStaleTableRoutes() error {
	for _, route := range staleTableRoutes(m.Staged.Static, m.Profiles.BridgeIP) {
		if err := hostnet.RemoveRoute(ovs.BridgeName, route.Destination, int(route.Table), route.metric); err != nil {
			return err
		}
	}
	return nil
}
