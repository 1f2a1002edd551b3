// SPDX-License-Identifier: Apache-2.0

package nmstate

import "net/netip"

// state is a file of NMState. A key that is not here is one that the agent does not build.
type state struct {
	Interfaces []netInterface `json:"interfaces"`
	Routes     struct {
		Config []Route `json:"config"`
	} `json:"routes"`
	DNS struct {
		Config DNS `json:"config"`
	} `json:"dns-resolver"`
}

type netInterface struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Type        string `json:"type"`
	State       string `json:"state"`
	MTU         int    `json:"mtu"`
	CopyMACFrom string `json:"copy-mac-from"`
	IPv4        ip     `json:"ipv4"`
	IPv6        ip     `json:"ipv6"`

	Bridge          *bridge `json:"bridge"`
	LinkAggregation *bond   `json:"link-aggregation"`
	VLAN            *VLAN   `json:"vlan"`
}

type ip struct {
	Enabled  bool `json:"enabled"`
	DHCP     bool `json:"dhcp"`
	Autoconf bool `json:"autoconf"`
	Address  []struct {
		IP     netip.Addr `json:"ip"`
		Length int        `json:"prefix-length"`
	} `json:"address"`
	RouteMetric int `json:"auto-route-metric"` // of br-ex; that of the agent is 48, or lower if it must be
}

type bridge struct {
	AllowExtraPatchPorts bool `json:"allow-extra-patch-ports"` // OVN-Kubernetes adds them in any case
	Options              struct {
		MulticastSnooping bool `json:"mcast-snooping-enable"`
	} `json:"options"`
	Ports []struct {
		Name string `json:"name"`
	} `json:"port"`
}

type bond struct {
	Mode    string         `json:"mode"`
	Ports   []string       `json:"port"`
	Options map[string]any `json:"options"`
}

// VLAN is the VLAN that is the port of the bridge.
type VLAN struct {
	Parent string `json:"base-iface"`
	ID     int    `json:"id"`
}

// Route is a static route.
type Route struct {
	Destination netip.Prefix `json:"destination"`
	Gateway     netip.Addr   `json:"next-hop-address"`
	Interface   string       `json:"next-hop-interface"`
	Metric      int          `json:"metric"`
}

// DNS is the configuration of the resolver.
type DNS struct {
	Servers []netip.Addr `json:"server"`
	Search  []string     `json:"search"`
}
