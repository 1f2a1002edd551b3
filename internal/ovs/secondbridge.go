// SPDX-License-Identifier: Apache-2.0

package ovs

import (
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

const (
	// SecondBridgeFile names the interface that configure-ovs.sh attaches to a second bridge, for a secondary network.
	SecondBridgeFile = "/etc/ovnk/extra_bridge"
	secondBridgeName = "br-ex1"
)

// CheckSecondBridge refuses SecondBridgeFile, which content is of, if the second bridge does not exist: the agent
// creates only br-ex, and configure-ovs.sh creates no bridge on a host with the agent.
func CheckSecondBridge(facts Facts, content string) error {
	if slices.ContainsFunc(facts.OVS.Bridges, func(b openvswitch.Bridge) bool { return b.Name == secondBridgeName }) {
		return nil
	}
	return Refuse(report.Remedyf("# create %s on this host before the join; or, without a second bridge, remove the file "+
		"if it is the host's own, or exclude it from the payload:\nhcp-node-agent plan --payload-drop %s", secondBridgeName,
		SecondBridgeFile),
		"%s requests a second bridge %s with the interface %q: the agent creates only br-ex", SecondBridgeFile,
		secondBridgeName, content)
}
