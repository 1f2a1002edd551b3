// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// callDatabase makes NetworkManager call the Open vSwitch database, as for
// every reapply of a bridge, and connect to it if it is not connected.
func (d *Driver) callDatabase(ctx context.Context, bridge networkmanager.Device) error {
	before, err := openvswitch.ConfigGeneration(ctx)
	if err != nil {
		return err
	}
	if err := d.NM.Reapply(ctx, bridge, nil); err != nil {
		return err
	}
	return poll(ctx, "NetworkManager to connect to the Open vSwitch database", func() (bool, error) {
		now, err := openvswitch.ConfigGeneration(ctx)
		return now != before, err
	})
}

// refreshDatabaseView makes NetworkManager read the database in the state of its last
// stop, before br-ex is removed from it. NetworkManager keeps its list of
// bridges when a connection ends (ovsdb_disconnect in nm-ovsdb.c, 1.42), and
// only notices deletions while it is connected. It would keep br-ex in that
// list until it is restarted, and each of its transactions would fail, because
// it waits for the bridges in the list.
func (d *Driver) refreshDatabaseView(ctx context.Context) error {
	if !d.NM.IsResponding(ctx) {
		return nil // it reads the database when it starts
	}
	bridge, err := d.NM.BridgeDevice(ctx, ovs.BridgeName)
	if err != nil || bridge.Active.State != networkmanager.Activated {
		return nil // it has no br-ex in its list
	}
	limited, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return d.callDatabase(limited, bridge)
}

// explainDatabaseFailure explains a failed activation if NetworkManager has not
// written to the database since the generation before: see refreshDatabaseView.
func explainDatabaseFailure(ctx context.Context, before string, cause error) error {
	if now, err := openvswitch.ConfigGeneration(ctx); err != nil || now != before {
		return cause
	}
	return report.Fail(report.Failed, "systemctl restart NetworkManager",
		"%w; NetworkManager could not write %s to the Open vSwitch database, possibly because its cached state is out of "+
			"date", cause, ovs.BridgeName)
}
