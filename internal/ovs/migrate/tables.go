// SPDX-License-Identifier: Apache-2.0

package migrate

import (
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
	var left []tableRoute
	for _, family := range networkmanager.Families() {
		kept := map[tableRoute]bool{}
		for _, route := range routesInTables(final, family) {
			kept[route] = true
		}
		for _, route := range routesInTables(copied, family) {
			if !kept[route] {
				left = append(left, route)
			}
		}
	}
	return left
}

func routesInTables(s networkmanager.Settings, family networkmanager.Family) []tableRoute {
	const mainTable = 254
	var routes []tableRoute
	for _, route := range s.Routes(family) {
		if route.Table == 0 || route.Table == mainTable {
			continue
		}
		metric := int(route.Metric)
		if metric == 0 {
			metric = int(s.Int64(family.Section(), "route-metric"))
		}
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
