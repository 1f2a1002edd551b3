// SPDX-License-Identifier: Apache-2.0

package networkmanager

// DeviceType is NMDeviceType.
type DeviceType uint32

// The types that decisions depend on, and those that are refused with a
// specific message. Names and numbers are NetworkManager's. Veth is equivalent
// to Ethernet.
const (
	Ethernet     DeviceType = 1
	WiFi         DeviceType = 2
	InfiniBand   DeviceType = 9
	Bond         DeviceType = 10
	VLAN         DeviceType = 11
	Bridge       DeviceType = 13
	Team         DeviceType = 15
	TUN          DeviceType = 16
	IPTunnel     DeviceType = 17
	MACVLAN      DeviceType = 18
	Veth         DeviceType = 20
	Dummy        DeviceType = 22
	PPP          DeviceType = 23
	OVSInterface DeviceType = 24
	OVSPort      DeviceType = 25
	OVSBridge    DeviceType = 26
	WireGuard    DeviceType = 29
)
