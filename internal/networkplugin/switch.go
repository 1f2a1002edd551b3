// SPDX-License-Identifier: Apache-2.0

package networkplugin

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
)

// clusterBridges are the bridges that OVN-Kubernetes and ovn-controller make.
// br-ex is the agent's own, or the administrator's.
var clusterBridges = []string{"br-int", "br-local", "br-ext"}

func vsctl(args ...string) []string { return append([]string{"ovs-vsctl", "--timeout=10"}, args...) }

// database lists what OVN-Kubernetes and ovn-controller have written into the
// Open vSwitch database, from which it would come back with every start.
func (f networkFacts) database() []leftover {
	var list []leftover
	for _, bridge := range f.Flows {
		// The default flow forwards traffic before the other flows are deleted.
		ofctl := []string{"ovs-ofctl", "--timeout=10", "--protocols=" + openvswitch.FlowVersions}
		list = append(list, leftover{
			Key:     "flows of " + bridge,
			Prepare: append(slices.Clone(ofctl), "add-flow", bridge, "priority=0,actions=NORMAL"),
			Remove:  append(slices.Clone(ofctl), "del-flows", bridge, openvswitch.ClusterCookie),
		})
	}
	for _, bridge := range f.Database.Bridges {
		if slices.Contains(clusterBridges, bridge.Name) {
			list = append(list, newLeftover(vsctl("--if-exists", "del-br", bridge.Name)...))
			continue
		}
		for _, port := range bridge.Ports {
			if ofOVN(port.ExternalIDs) {
				list = append(list, newLeftover(vsctl("--if-exists", "del-port", bridge.Name, port.Name)...))
			}
		}
	}
	for _, row := range f.Database.Rows {
		if ofOVN(row.ExternalIDs) || row.ExternalIDs["sandbox"] != "" {
			list = append(list, newLeftover(vsctl("destroy", row.Table, row.UUID)...))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(f.Database.ExternalIDs)) {
		if strings.HasPrefix(key, "ovn-") {
			list = append(list, setting{"external_ids", key, f.Database.ExternalIDs[key]}.leftover())
		}
	}
	const idle = "bundle-idle-timeout" // setupOVNNode
	if value, found := f.Database.OtherConfig[idle]; found {
		list = append(list, setting{"other_config", idle, value}.leftover())
	}
	return list
}

// ofOVN reports whether a row carries external IDs of ovn-controller.
func ofOVN(externalIDs map[string]string) bool {
	for key := range externalIDs {
		if strings.HasPrefix(key, "ovn-") || strings.HasPrefix(key, "ovn_") {
			return true
		}
	}
	return false
}

// setting is a setting of the switch as a whole: a key of a column of the table Open_vSwitch.
type setting struct{ column, key, value string }

const settingPrefix = "Open_vSwitch "

// String returns the key of the setting in the ledger, which includes the value, so that a value
// from before the join can be set again.
func (s setting) String() string { return settingPrefix + s.column + ":" + s.key + "=" + s.value }

// parseSetting parses what String returned. It returns false for the key of another leftover.
func parseSetting(text string) (s setting, ok bool) {
	text, ok = strings.CutPrefix(text, settingPrefix)
	s.column, text, _ = strings.Cut(text, ":")
	s.key, s.value, _ = strings.Cut(text, "=")
	return s, ok
}

func (s setting) leftover() leftover {
	return leftover{Key: s.String(), Remove: vsctl("--no-wait", "remove", "Open_vSwitch", ".", s.column, s.key)}
}

// restoredSettings lists the commands that set the settings from before the join
// which have another value now, or none.
func restoredSettings(list []leftover, before []string) [][]string {
	var commands [][]string
	for _, key := range before {
		s, ok := parseSetting(key)
		if !ok || slices.ContainsFunc(list, func(l leftover) bool { return l.Key == key }) {
			continue
		}
		assignment := s.column + ":" + s.key + "=" + strconv.Quote(s.value)
		commands = append(commands, vsctl("--no-wait", "set", "Open_vSwitch", ".", assignment))
	}
	return commands
}

// links lists the interfaces of OVN-Kubernetes and ovn-controller. They go with
// their bridges while the switch runs. The kernel's datapath and the interfaces
// of tunnels in it serve other bridges, too.
func (f networkFacts) links() []leftover {
	var list []leftover
	otherBridges := f.Database == nil || slices.ContainsFunc(f.Database.Bridges, func(bridge openvswitch.Bridge) bool {
		return !slices.Contains(clusterBridges, bridge.Name)
	})
	for _, link := range f.Links {
		name := link.Name
		var remove []string
		switch {
		case name == openvswitch.Datapath && !otherBridges:
			remove = []string{"ovs-dpctl", "del-dp", "system@" + openvswitch.Datapath}
		case strings.HasPrefix(name, "genev_sys_") && !otherBridges:
			remove = []string{"ip", "link", "delete", name}
		case !strings.HasPrefix(name, managementPort) && !strings.HasSuffix(name, "-udn-vrf") &&
			!slices.Contains(clusterBridges, name):
			continue
		case link.Kind == "openvswitch":
			remove = []string{"ovs-dpctl", "del-if", "system@" + openvswitch.Datapath, name}
		default:
			remove = []string{"ip", "link", "delete", name}
		}
		list = append(list, leftover{Key: "interface " + name, Remove: remove, IsDependent: true})
	}
	return list
}
