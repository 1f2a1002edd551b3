// SPDX-License-Identifier: Apache-2.0

package nmprofile

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
)

// Describe returns one line per profile with the settings that matter
// to an administrator.
func Describe(profiles []networkmanager.Settings) []string {
	names := map[string]string{}
	for _, s := range profiles {
		names[s.Text("connection", "uuid")] = s.Text("connection", "id")
	}
	var lines []string
	for _, s := range profiles {
		line := fmt.Sprintf("+ %s (%s, %s)", s.Text("connection", "id"), s.Text("connection", "type"),
			cmp.Or(s.Text("connection", "interface-name"), "any name, matched by MAC"))
		if words := describeSettings(s, names); len(words) > 0 {
			line += ": " + strings.Join(words, ", ")
		}
		lines = append(lines, line)
	}
	return lines
}

// describeSettings returns the important settings of a profile, each in a few
// words. A controller is named by names, or as in the profile if names lacks
// it.
func describeSettings(s networkmanager.Settings, names map[string]string) []string {
	var w words
	master := s.Text("connection", "master")
	if name, managed := names[master]; managed {
		master = name
	}
	w.add("in ", master)
	w.add("autoconnect-priority ", formatProperty(s, "connection", "autoconnect-priority"))
	w.add("MAC ", s.Text("802-3-ethernet", "assigned-mac-address"))
	w.add("MTU ", formatProperty(s, "802-3-ethernet", "mtu"))
	w.add("VLAN ", formatProperty(s, "vlan", "id"))
	w.add("of ", s.Text("vlan", "parent"))
	w.add("bond ", formatProperty(s, "bond", "options"))
	w.add("", formatProperty(s, "ovs-external-ids", "data"))
	for _, family := range networkmanager.Families() {
		w = append(w, describeAddresses(s, family)...)
	}
	return w
}

func describeAddresses(s networkmanager.Settings, family networkmanager.Family) []string {
	section, method := family.Section(), s.Method(family)
	if method == "" {
		return nil
	}
	w := words{family.String() + " " + method}
	for _, address := range s.Addresses(family) {
		w.add("", address.String())
	}
	w.add("via ", s.Text(section, "gateway"))
	for _, route := range s.Routes(family) {
		text := route.Destination.String()
		if route.Gateway.IsValid() {
			text += " via " + route.Gateway.String()
		}
		w.add("route ", text)
	}
	w.add("DNS ", formatNameservers(s, section))
	w.add("DNS priority ", formatProperty(s, section, "dns-priority"))
	w.add("search ", formatProperty(s, section, "dns-search"))
	w.add("metric ", formatProperty(s, section, "route-metric"))
	w.add("DHCP client ", s.Text(section, "dhcp-client-id"))
	w.add("DHCP DUID ", s.Text(section, "dhcp-duid"))
	w.add("token ", s.Text(section, "token"))
	return w
}

// words is a list of settings, each in a few words.
type words []string

// add adds a setting unless it has no value.
func (w *words) add(label, value string) {
	if value != "" {
		*w = append(*w, label+value)
	}
}

// formatNameservers returns the name servers. The property dns-data exists since
// NetworkManager 1.42; dns is the older, binary form.
func formatNameservers(s networkmanager.Settings, section string) string {
	if text := formatProperty(s, section, "dns-data"); text != "" {
		return text
	}
	var servers []string
	switch list := s[section]["dns"].Value().(type) {
	case []uint32: // in network byte order
		for _, server := range list {
			servers = append(servers, netip.AddrFrom4([4]byte(binary.NativeEndian.AppendUint32(nil, server))).String())
		}
	case [][]byte:
		for _, server := range list {
			if address, ok := netip.AddrFromSlice(server); ok {
				servers = append(servers, address.String())
			}
		}
	}
	return strings.Join(servers, " ")
}

// formatProperty returns a property as text, or "" if it is missing, empty or 0.
func formatProperty(s networkmanager.Settings, section, name string) string {
	switch v := s[section][name].Value().(type) {
	case nil:
		return ""
	case []string:
		return strings.Join(v, " ")
	case map[string]string:
		pairs := make([]string, 0, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			pairs = append(pairs, key+"="+v[key])
		}
		return strings.Join(pairs, " ")
	default:
		text := fmt.Sprint(v)
		if text == "0" {
			return ""
		}
		return text
	}
}
