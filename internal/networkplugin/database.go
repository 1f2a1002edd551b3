// SPDX-License-Identifier: Apache-2.0

package networkplugin

import (
	"context"
	"os"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
)

// hasDatabase reports whether Open vSwitch has ever run on this host.
func hasDatabase() bool {
	return slices.ContainsFunc(openvswitch.DatabaseFiles(), func(file string) bool {
		_, err := os.Stat(file)
		return err == nil
	})
}

// startDatabase starts the database server where it does not run, because the
// settings of OVN-Kubernetes in its database would come back with Open vSwitch.
// The function that it returns stops the server again.
func (d *Driver) startDatabase(ctx context.Context) (func() error, error) {
	nothing := func() error { return nil }
	if d.Systemd == nil || !command.Exists("ovs-vsctl") || !hasDatabase() {
		return nothing, nil
	}
	if _, err := openvswitch.ConfigGeneration(ctx); err == nil {
		return nothing, nil
	}
	d.Log.Wait("waiting for the Open vSwitch database to start", "")
	if err := d.Systemd.Start(ctx, openvswitch.DatabaseUnit); err != nil {
		return nothing, err
	}
	return func() error { return d.Systemd.Stop(context.WithoutCancel(ctx), openvswitch.DatabaseUnit) }, nil
}
