// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
)

// daemonTimeout limits the wait until a terminated daemon runs again.
const daemonTimeout = 30 * time.Second

// ensureDaemonsRunning starts the daemons that a rollback needs. systemd restarts a
// NetworkManager that was killed. A NetworkManager or Open vSwitch that was
// stopped is started here, because the host has no network without them.
func (d *Driver) ensureDaemonsRunning(ctx context.Context, nic string) error {
	if openvswitch.CheckRunning(ctx) != nil {
		d.Log.Wait("waiting for Open vSwitch to start", "")
		d.startOpenVSwitch(ctx, nic)
	}
	if !d.NM.IsResponding(ctx) {
		d.Log.Wait("waiting for NetworkManager to start", "")
		if err := d.Systemd.Start(ctx, systemd.NetworkManagerUnit); err != nil {
			d.Log.Note(err.Error())
		}
	}
	limited, cancel := context.WithTimeout(ctx, daemonTimeout)
	defer cancel()
	return d.NM.AwaitStartup(limited)
}

// startOpenVSwitch starts only the database, lets NetworkManager read it, and
// removes br-ex from the database and the NIC from the kernel's datapath. Only
// then does it start the switch, which would attach the NIC again. Errors are
// logged: the rollback also works without a switch.
func (d *Driver) startOpenVSwitch(ctx context.Context, nic string) {
	for _, repair := range []func() error{
		func() error { return d.Systemd.Start(ctx, openvswitch.DatabaseUnit) },
		func() error { return d.refreshDatabaseView(ctx) },
		func() error { return d.removeBridge(ctx, nic) },
		func() error { return d.Systemd.Start(ctx, openvswitch.Unit) },
		func() error { return d.Systemd.Start(ctx, openvswitch.SwitchUnit) }, // which Unit does not start if it is active
	} {
		if err := repair(); err != nil {
			d.Log.Note(err.Error())
		}
	}
}

// removeBridge removes br-ex, and the NIC from it, whether or not Open vSwitch
// runs. Without the switch the kernel still passes all packets that the NIC
// receives to its datapath, and nowhere else.
func (d *Driver) removeBridge(ctx context.Context, nic string) error {
	if openvswitch.CheckRunning(ctx) == nil {
		return openvswitch.DeleteBridge(ctx, ovs.BridgeName)
	}
	errs := []error{openvswitch.DeleteBridge(ctx, ovs.BridgeName, "--no-wait")}
	links, err := hostnet.Links()
	if err != nil {
		errs = append(errs, fmt.Errorf("checking whether %s is a port of a bridge: %w", nic, err))
	}
	facts := ovs.Facts{Links: links}
	if err != nil || inDatapath(facts, nic) {
		errs = append(errs, openvswitch.DetachFromDatapath(ctx, nic))
	}
	// A switch that starts without br-ex in its database leaves the interface of
	// that name in the kernel, and cannot create it again later.
	if _, left := facts.Link(ovs.BridgeName); err != nil || left {
		errs = append(errs, openvswitch.DetachFromDatapath(ctx, ovs.BridgeName))
	}
	return errors.Join(errs...)
}

// inDatapath reports whether the NIC is a port of the kernel's Open vSwitch datapath.
func inDatapath(facts ovs.Facts, nic string) bool {
	link, _ := facts.Link(nic)
	datapath, ok := facts.Link(openvswitch.Datapath)
	return ok && link.Master == datapath.Index
}
