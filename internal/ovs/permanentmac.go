package ovs

import (
	"net"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
)

// uniquePermanentMAC returns the permanent MAC of an Ethernet NIC if no other interface
// has the same one, else nil. On some clouds a virtual function shares the MAC
// of the interface above it.
func uniquePermanentMAC(facts Facts, link hostnet.Link, original networkmanager.Settings) []byte {
	if link.PermanentMAC == "" || original.Text("connection", "type") != "802-3-ethernet" {
		return nil
	}
	if _, alone := hostnet.LinkByPermanentMAC(facts.Links, link.PermanentMAC); !alone {
		return nil
	}
	mac, err := net.ParseMAC(link.PermanentMAC)
	if err != nil || len(mac) != 6 {
		return nil
	}
	return mac
}
