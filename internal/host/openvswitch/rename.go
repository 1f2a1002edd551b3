package openvswitch

import (
	"context"
	"fmt"
)

// Renamed is an interface whose port and bridge name it as it was called before.
type Renamed struct {
	Bridge, Port, NIC string // Port is the old name
	PortProfile       string // UUID, as in Attachment
}

// Rename makes a port of the interface's name in place of the old one, as names
// of ports cannot be changed, and tells the bridge's users, in one transaction.
func Rename(ctx context.Context, r Renamed) error {
	_, err := vsctl(ctx,
		"--id=@nic", "get", "Interface", r.NIC,
		"--", "--id=@old", "get", "Port", r.Port,
		"--", "--id=@new", "create", "Port", "name="+r.NIC, "interfaces=@nic", "external_ids:NM.connection.uuid="+r.PortProfile,
		"--", "remove", "Bridge", r.Bridge, "ports", "@old",
		"--", "add", "Bridge", r.Bridge, "ports", "@new",
		"--", "set", "Bridge", r.Bridge, "external_ids:bridge-uplink="+r.NIC)
	if err != nil {
		return fmt.Errorf("naming the port %s of %s after its interface %s: %w", r.Port, r.Bridge, r.NIC, err)
	}
	return nil
}

// NameUplink tells a bridge's users which interface is its uplink.
func NameUplink(ctx context.Context, bridge, nic string) error {
	if _, err := vsctl(ctx, "set", "Bridge", bridge, "external_ids:bridge-uplink="+nic); err != nil {
		return fmt.Errorf("naming the uplink of %s: %w", bridge, err)
	}
	return nil
}
