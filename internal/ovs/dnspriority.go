package ovs

import (
	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
)

// usualDNSPriority is what NetworkManager gives an interface that is no VPN and
// whose profile says nothing; lower ones come first.
const usualDNSPriority = 100

// dnsPriority keeps the order of the name servers where another interface has
// some too; 0 leaves it as it is. NetworkManager puts those of the interface
// with the best default route first, and never takes that rank away from one
// that had it for a moment (update_ip_dns in nm-policy.c, 1.42): among such the
// first one wins that came up, and a bridge comes up last at every boot.
func dnsPriority(facts Facts, uplink string) int32 {
	others := false
	for _, device := range facts.Devices {
		if device.Name != uplink && device.Managed && len(device.IPv4.Nameservers)+len(device.IPv6.Nameservers) > 0 {
			others = true
		}
	}
	if !others {
		return 0
	}
	for _, family := range networkmanager.Families() {
		if best, ok := host.BestDefaultRoute(facts.Routes, int(family)); ok && best.Link == uplink {
			return usualDNSPriority - 1
		}
	}
	return usualDNSPriority + 1
}
