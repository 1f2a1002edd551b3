// SPDX-License-Identifier: Apache-2.0

package ovs

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs/hostrules"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// presentRoute is a route over an interface that its addresses do not imply.
type presentRoute struct {
	destination netip.Prefix
	gateway     netip.Addr // unspecified for a destination on the link
	metric      int
	table       int // 0: main
	source      netip.Addr
	isOnLink    bool
}

// attributes returns the attributes of the route in the form of NetworkManager.
func (r presentRoute) attributes() []string {
	var attributes []string
	if r.table != 0 {
		attributes = append(attributes, fmt.Sprintf("table=%d", r.table))
	}
	if r.source.IsValid() {
		attributes = append(attributes, "src="+r.source.String())
	}
	if r.isOnLink {
		attributes = append(attributes, "onlink=true")
	}
	return attributes
}

// presentIP returns the addresses of a family that an interface has now, and its routes.
func presentIP(facts Facts, link hostnet.Link, family networkmanager.Family) ([]netip.Prefix, []presentRoute) {
	unspecified := netip.IPv4Unspecified()
	if family == networkmanager.IPv6 {
		unspecified = netip.IPv6Unspecified()
	}
	addresses := slices.DeleteFunc(link.Stable(), func(prefix netip.Prefix) bool {
		return networkmanager.FamilyOf(prefix.Addr()) != family
	})
	table := facts.TableRoutes
	if len(table) == 0 { // facts of an older version
		for _, route := range facts.Routes {
			table = append(table, hostnet.TableRoute{Route: route, Table: unix.RT_TABLE_MAIN})
		}
	}
	var routes []presentRoute
	for _, route := range table {
		destination := route.Destination
		if destination.Bits() <= 0 {
			destination = netip.PrefixFrom(unspecified, 0)
		}
		isSubnet := func(prefix netip.Prefix) bool { return prefix.Masked() == destination }
		switch {
		case route.Link != link.Name || route.Family != int(family), destination.Addr().IsLinkLocalUnicast(),
			destination.Addr().IsMulticast(), !route.Gateway.IsValid() && slices.ContainsFunc(addresses, isSubnet):
			continue
		}
		found := presentRoute{
			destination: destination, gateway: route.Gateway, metric: route.Metric, table: route.Table,
			source: route.Source, isOnLink: route.IsOnLink,
		}
		if !found.gateway.IsValid() {
			found.gateway = unspecified
		}
		if route.Table == unix.RT_TABLE_MAIN {
			found.table = 0
		}
		routes = append(routes, found)
	}
	return addresses, routes
}

// presentRules returns the routing policy rules, in the form of NetworkManager, that select a table of the routes by
// addresses or marks. Rules with other conditions are omitted.
func presentRules(host *hostrules.Rules, family networkmanager.Family, routes []presentRoute) []string {
	if host == nil {
		return nil
	}
	var rules []string
	for _, rule := range host.TableRules {
		text := "priority " + rule.Priority
		words, table, isSimple := strings.Fields(rule.Text), "", true
		for i := 0; i+1 < len(words); i += 2 {
			switch key, value := words[i], words[i+1]; key {
			case "from", "to", "fwmark":
				if value == "all" {
					value = map[networkmanager.Family]string{networkmanager.IPv4: "0.0.0.0/0", networkmanager.IPv6: "::/0"}[family]
				}
				text += " " + key + " " + value
			case "lookup":
				table = value
				text += " table " + value
			case "proto":
			default:
				isSimple = false
			}
		}
		isTable := func(route presentRoute) bool { return fmt.Sprint(route.table) == table }
		if isSimple && rule.Family == fmt.Sprintf("-%d", family) && slices.ContainsFunc(routes, isTable) {
			rules = append(rules, text)
		}
	}
	return rules
}

// staticArguments returns the arguments of nmcli that make the present addresses and routes of a family static.
func staticArguments(facts Facts, link hostnet.Link, family networkmanager.Family) string {
	addresses, routes := presentIP(facts, link, family)
	section := family.Section()
	texts := make([]string, 0, len(routes))
	for _, route := range routes {
		words := append([]string{fmt.Sprintf("%s %s %d", route.destination, route.gateway, route.metric)},
			route.attributes()...)
		texts = append(texts, strings.Join(words, " "))
	}
	list := strings.Join(lists.Map(addresses, netip.Prefix.String), ",")
	return fmt.Sprintf("%s.method manual %s.addresses %s %s.routes '%s'", section, section, list, section,
		strings.Join(texts, ", "))
}

// keepRemedy returns commands that create a profile with the present addresses, routes and name servers of an
// interface, check it, let NetworkManager manage the interface, and activate the profile. For an interface other than
// an Ethernet interface, the profiles of the interfaces below are required too, and it returns what to create.
func keepRemedy(facts Facts, link hostnet.Link, device networkmanager.Device, priority int32) report.Remedy {
	isEthernet := link.Kind == "device" || link.Kind == "veth" ||
		device.Type == networkmanager.Ethernet || device.Type == networkmanager.Veth
	if !isEthernet {
		return report.Remedyf("ip -d address show %s; ip route show table all dev %s # create NetworkManager profiles for "+
			"%s and the interfaces below it, with these addresses and routes, before NetworkManager manages or activates any "+
			"of them", link.Name, link.Name, link.Name)
	}
	name := "static-" + link.Name
	uuid := ProfileUUID(facts.MachineID, "keyfile "+name) // not one that stands for a profile of br-ex
	file := "/etc/NetworkManager/system-connections/" + name + ".nmconnection"
	remedy := "# the profile has the present addresses as static ones; afterwards, disable the program that configures " +
		link.Name + " at boot\n" + writeFile(file, "600", keyfile(facts, link, name, uuid, priority)) + "\n"
	load := "nmcli connection load " + file
	if !facts.NetworkManager.Running { // when it starts, it only monitors an interface that has addresses
		load = "systemctl enable --now NetworkManager && nm-online -s -q -t 120"
	}
	first := link.Stable()[0]
	section := networkmanager.FamilyOf(first.Addr()).Section()
	check := fmt.Sprintf("%s && nmcli -g %s.addresses connection show uuid %s | tr -d '\\\\' | grep -F %s", load, section,
		uuid, first.Addr())
	if facts.NetworkManager.Running && !device.Managed {
		// At the next boot, too: the exception precedes what excludes the interface by name, MAC or ifcfg file. In a list
		// of exceptions only, NetworkManager would exclude all other interfaces, so the interface itself is before it.
		remedy += writeFile("/etc/NetworkManager/conf.d/zz-"+name+".conf", "644", []string{
			"[keyfile]", "unmanaged-devices+=interface-name:" + link.Name + ";except:interface-name:" + link.Name,
			"[device-" + name + "]", "match-device=interface-name:" + link.Name, "managed=1",
		}) + "\n"
		check += " && nmcli general reload conf && nmcli device set " + link.Name + " managed yes"
	}
	return report.Remedy(remedy + check + " && nmcli connection up uuid " + uuid + " ifname " + link.Name)
}

// writeFile returns a command that writes the lines to a file.
func writeFile(path, mode string, lines []string) string {
	return "printf '%s\\n' '" + strings.Join(lines, "' '") + "' | install -m 0" + mode + " /dev/stdin " + path
}

// keyfile returns the lines of a profile with the present configuration of an Ethernet interface.
func keyfile(facts Facts, link hostnet.Link, name, uuid string, priority int32) []string {
	lines := []string{
		"[connection]", "id=" + name, "uuid=" + uuid, "type=ethernet", "interface-name=" + link.Name,
		fmt.Sprintf("autoconnect-priority=%d", priority), "[ethernet]", fmt.Sprintf("mtu=%d", link.MTU),
	}
	if link.PermanentMAC != "" && link.MAC != link.PermanentMAC {
		lines = append(lines, "cloned-mac-address="+link.MAC)
	}
	for _, family := range networkmanager.Families() {
		lines = append(lines, "["+family.Section()+"]")
		addresses, routes := presentIP(facts, link, family)
		switch {
		case len(addresses) > 0:
			lines = append(lines, "method=manual")
		case family == networkmanager.IPv4:
			lines = append(lines, "method=disabled")
		default:
			lines = append(lines, "method=link-local")
		}
		for i, address := range addresses {
			lines = append(lines, fmt.Sprintf("address%d=%s", i+1, address))
		}
		for i, route := range routes {
			lines = append(lines, fmt.Sprintf("route%d=%s,%s,%d", i+1, route.destination, route.gateway, route.metric))
			if attributes := route.attributes(); len(attributes) > 0 {
				lines = append(lines, fmt.Sprintf("route%d_options=%s", i+1, strings.Join(attributes, ",")))
			}
		}
		for i, rule := range presentRules(facts.HostRules, family, routes) {
			lines = append(lines, fmt.Sprintf("routing-rule%d=%s", i+1, rule))
		}
		if len(addresses) == 0 {
			continue
		}
		servers := slices.DeleteFunc(slices.Clone(facts.Resolver.Nameservers), func(server netip.Addr) bool {
			return networkmanager.FamilyOf(server) != family
		})
		if len(servers) > 0 {
			lines = append(lines, "dns="+strings.Join(lists.Map(servers, netip.Addr.String), ";")+";")
		}
		if len(facts.Resolver.Search) > 0 {
			lines = append(lines, "dns-search="+strings.Join(facts.Resolver.Search, ";")+";")
		}
	}
	return lines
}

// StartRemedy returns commands that start NetworkManager on a host whose uplink keeps its addresses.
func StartRemedy(facts Facts, options Options) report.Remedy {
	const start = report.Remedy("systemctl enable --now NetworkManager")
	choice, err := chooseUplink(facts, options)
	link, found := facts.Link(choice.name)
	if err != nil || !found || len(link.Stable()) == 0 || choice.name == BridgeName {
		return start
	}
	return keepRemedy(facts, link, networkmanager.Device{}, defaultAutoconnectPriority)
}
