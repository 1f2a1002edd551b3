// SPDX-License-Identifier: Apache-2.0

package ovs

import (
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func TestCheckSecondBridge(t *testing.T) {
	f := facts(t, "dhcp")
	err := CheckSecondBridge(f, "eth1")
	const want = `/etc/ovnk/extra_bridge requests a second bridge br-ex1 with the interface "eth1"`
	if report.CodeOf(err) != report.Refused || !strings.Contains(err.Error(), want) || report.RemedyOf(err) == "" {
		t.Errorf("%v, want a refusal: %s", err, want)
	}
	f.OVS.Bridges = append(f.OVS.Bridges, openvswitch.Bridge{Name: "br-ex1"})
	if err := CheckSecondBridge(f, "eth1"); err != nil {
		t.Errorf("the bridge of the administrator: %v", err)
	}
}
