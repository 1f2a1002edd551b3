package networkmanager

// More of NMDeviceType: interfaces that are told from others only to be
// refused by name, and Veth, which is Ethernet all but in name.
const (
	TUN       DeviceType = 16
	IPTunnel  DeviceType = 17
	MACVLAN   DeviceType = 18
	Veth      DeviceType = 20
	Dummy     DeviceType = 22
	PPP       DeviceType = 23
	WireGuard DeviceType = 29
)
