package migrate

import (
	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
)

// tableRoute is a route in a table other than the main one.
type tableRoute struct {
	networkmanager.Route
	metric int
}

// copiedRoutes lists those that the copy has with metrics of its own.
// NetworkManager adds routes to such tables, and leaves them there when the
// profile does not have them any more (route-table 0 syncs the main table
// alone).
func copiedRoutes(copied, final networkmanager.Settings) []tableRoute {
	var left []tableRoute
	for _, family := range networkmanager.Families() {
		kept := map[tableRoute]bool{}
		for _, route := range inTables(final, family) {
			kept[route] = true
		}
		for _, route := range inTables(copied, family) {
			if !kept[route] {
				left = append(left, route)
			}
		}
	}
	return left
}

func inTables(s networkmanager.Settings, family networkmanager.Family) []tableRoute {
	const mainTable = 254
	var routes []tableRoute
	for _, route := range s.Routes(family) {
		if route.Table == 0 || route.Table == mainTable {
			continue
		}
		metric := int(route.Metric)
		if metric == 0 {
			metric = int(s.Long(family.Section(), "route-metric"))
		}
		route.Metric = 0
		routes = append(routes, tableRoute{route, metric})
	}
	return routes
}

// tidyTables removes what the copy has left.
func (a *migration) tidyTables() error {
	for _, route := range copiedRoutes(a.Staged.Static, a.Profiles.BridgeIP) {
		if err := host.RemoveRoute(ovs.BridgeName, route.Destination, int(route.Table), route.metric); err != nil {
			return err
		}
	}
	return nil
}
