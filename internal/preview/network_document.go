// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"net/netip"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Network describes in a document how the uplink is attached to br-ex.
type Network struct {
	Attached    bool             `json:"attached" doc:"whether br-ex already has the uplink, so that nothing changes"`
	Uplink      string           `json:"uplink" doc:"interface that is attached to br-ex"`
	Source      string           `json:"source,omitempty" doc:"setting or route that selected the uplink; absent if it is already attached"`
	Addresses   []netip.Addr     `json:"addresses" doc:"addresses of the host, which br-ex takes over"`
	Profiles    []Profile        `json:"profiles" doc:"NetworkManager profiles that are added, in this order; empty if the uplink is already attached"`
	Notes       []string         `json:"notes" doc:"differences from the network before"`
	Warnings    []report.Finding `json:"warnings,omitempty" doc:"configuration of the host that does not apply to br-ex"`
	Description []string         `json:"description" doc:"lines that the text output prints"`
}

// Profile is a NetworkManager profile that is added.
type Profile struct {
	Name      string                  `json:"name" doc:"connection.id"`
	Type      string                  `json:"type" doc:"connection.type, such as ovs-bridge"`
	Interface string                  `json:"interface,omitempty" doc:"interface of the profile; absent if the profile selects the interface by its MAC address"`
	Settings  networkmanager.Settings `json:"settings" doc:"properties by section, each as its D-Bus signature and its value in GVariant text format; sections that can contain secrets are omitted"`
}

func newNetwork(migration ovs.Migration) *Network {
	network := &Network{
		Attached:    migration.AlreadyAttached,
		Uplink:      migration.Uplink,
		Source:      migration.Source,
		Addresses:   migration.Addresses,
		Notes:       migration.Notes,
		Warnings:    migration.Findings(),
		Description: migration.Describe(),
	}
	if migration.AlreadyAttached {
		return network
	}
	for _, settings := range migration.Profiles.List() {
		network.Profiles = append(network.Profiles, Profile{
			Name:      settings.Text("connection", "id"),
			Type:      settings.Text("connection", "type"),
			Interface: settings.Text("connection", "interface-name"),
			Settings:  ovs.PublicSettings(settings),
		})
	}
	return network
}
