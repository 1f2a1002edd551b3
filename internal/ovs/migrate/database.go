package migrate

import (
	"context"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// callDatabase makes NetworkManager call the Open vSwitch database, as it does
// for every reapply of a bridge, and so connect to it when it is not connected.
func (d *Driver) callDatabase(ctx context.Context, bridge networkmanager.Device) error {
	before, err := openvswitch.Generation(ctx)
	if err != nil {
		return err
	}
	if err := d.NM.Reapply(ctx, bridge, nil); err != nil {
		return err
	}
	return poll(ctx, "NetworkManager to call the Open vSwitch database", func() (bool, error) {
		now, err := openvswitch.Generation(ctx)
		return now != before, err
	})
}

// showDatabase lets NetworkManager see the database as it was when it stopped,
// before br-ex is taken out of it. NetworkManager keeps its picture of the
// bridges over the end of a connection (ovsdb_disconnect in nm-ovsdb.c, 1.42),
// and is told only of what goes while it is connected: it would believe in
// br-ex for ever, and every transaction of its own, which waits for the bridges
// that it knows, would fail until it is restarted.
func (d *Driver) showDatabase(ctx context.Context) error {
	if !d.NM.Answers(ctx) {
		return nil // it starts with a picture of its own
	}
	bridge, err := d.NM.SwitchDevice(ctx, ovs.BridgeName)
	if err != nil || bridge.Active.State != networkmanager.Activated {
		return nil // then it knows no br-ex
	}
	limited, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return d.callDatabase(limited, bridge)
}

// refusedByDatabase adds to the failure of an activation that no transaction of
// NetworkManager's has changed the database: see showDatabase.
func refusedByDatabase(ctx context.Context, before string, cause error) error {
	if now, err := openvswitch.Generation(ctx); err != nil || now != before {
		return cause
	}
	return report.Fail(report.Failed, "systemctl restart NetworkManager",
		"%w; NetworkManager could not write %s into the Open vSwitch database, perhaps because its picture of it is out of date", cause, ovs.BridgeName)
}
