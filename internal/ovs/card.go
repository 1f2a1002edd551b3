package ovs

import (
	"net"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
)

// A NIC can have another name after a boot: a kernel or a naming policy that is
// newer, a card more in the machine, a rule of udev. The profiles must find it
// all the same, by the MAC that its maker gave it. mtu-migration.sh reads
// connection.interface-name of ovs-if-phys0 and fails where it is empty, so
// that profile keeps the name, and another one without a name stands by, which
// can only come up when that one cannot.

// cardMAC is the permanent MAC of an Ethernet NIC when no other interface has
// the same (a virtual function has that of the interface above it on some
// clouds), else nil.
func cardMAC(facts Facts, link host.Link, original networkmanager.Settings) []byte {
	if link.PermanentMAC == "" || original.Text("connection", "type") != "802-3-ethernet" {
		return nil
	}
	for _, other := range facts.Links {
		if other.Name != link.Name && strings.EqualFold(other.PermanentMAC, link.PermanentMAC) {
			return nil
		}
	}
	mac, err := net.ParseMAC(link.PermanentMAC)
	if err != nil || len(mac) != 6 {
		return nil
	}
	return mac
}

// underAnyName is the profile that finds a NIC by its MAC alone.
func underAnyName(nic networkmanager.Settings, machineID string, mac []byte) networkmanager.Settings {
	s := nic.Clone()
	s.Set("connection", "id", renamedProfile)
	s.Set("connection", "uuid", newUUID(machineID, renamedProfile))
	s.Drop("connection", "interface-name")
	s.Set("802-3-ethernet", "mac-address", mac)
	return s
}
