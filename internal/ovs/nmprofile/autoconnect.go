// SPDX-License-Identifier: Apache-2.0

package nmprofile

import (
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
)

// delayingProperties lists the properties of the section connection because of which an activation takes longer, or
// fails: waits, pings through a br-ex that has no uplink yet, and VPNs.
var delayingProperties = []string{
	"wait-activation-delay", "gateway-ping-timeout", "ip-ping-timeout", "ip-ping-addresses",
	"ip-ping-addresses-require-all", "secondaries",
}

// WithoutAutoconnect returns a profile that is not activated automatically, and without delay, for
// use until the migration is verified. Ports with autoconnect-slaves would
// activate the NIC before br-ex has the address.
func WithoutAutoconnect(s networkmanager.Settings) networkmanager.Settings {
	s = s.Clone()
	s.Drop("connection", delayingProperties...)
	s.Set("connection", "autoconnect", false)
	if _, pulls := s["connection"]["autoconnect-slaves"]; pulls {
		s.Set("connection", "autoconnect-slaves", int32(0))
	}
	return s
}
