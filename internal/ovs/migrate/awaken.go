package migrate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
)

// switchTimeout is how long a daemon that has died may take to be back.
const switchTimeout = 30 * time.Second

// startSwitch gets the daemons running that a way back needs. systemd starts a
// NetworkManager that was killed by itself; one that was stopped, and a stopped
// Open vSwitch, in whose hands the NIC may be, are started here: somebody may
// have stopped them, but not with the host's network in pieces in mind.
func (d *Driver) startSwitch(ctx context.Context, nic string) error {
	if openvswitch.SwitchRunning(ctx) != nil {
		d.log.Wait("for Open vSwitch to run again", "")
		d.startDatapath(ctx, nic)
	}
	if !d.NM.Answers(ctx) {
		d.log.Wait("for NetworkManager to run again", "")
		if err := d.Systemd.Start(ctx, "NetworkManager.service"); err != nil {
			d.log.Note(err.Error())
		}
	}
	limited, cancel := context.WithTimeout(ctx, switchTimeout)
	defer cancel()
	return d.NM.Await(limited)
}

// startDatapath starts the database alone, lets NetworkManager look at it, takes
// br-ex out of it and the NIC out of the kernel's hands, and only then starts
// the switch, which would take the NIC again. What fails is told; the way back
// does without a switch.
func (d *Driver) startDatapath(ctx context.Context, nic string) {
	for _, mend := range []func() error{
		func() error { return d.Systemd.Start(ctx, "ovsdb-server.service") },
		func() error { return d.showDatabase(ctx) },
		func() error { return d.removeBridge(ctx, nic) },
		func() error { return d.Systemd.Start(ctx, "openvswitch.service") },
		func() error { return d.Systemd.Start(ctx, "ovs-vswitchd.service") }, // died under a wrapper that is active
	} {
		if err := mend(); err != nil {
			d.log.Note(err.Error())
		}
	}
}

// removeBridge removes br-ex, and the NIC from it, whether Open vSwitch runs or
// not. Without the switch the kernel still sends all that the NIC receives
// there, and nowhere else.
func (d *Driver) removeBridge(ctx context.Context, nic string) error {
	if openvswitch.SwitchRunning(ctx) == nil {
		return openvswitch.DeleteBridge(ctx, ovs.BridgeName)
	}
	errs := []error{openvswitch.Forget(ctx, ovs.BridgeName)}
	links, err := host.Links()
	if err != nil {
		errs = append(errs, fmt.Errorf("looking whether %s is a port of a bridge: %w", nic, err))
	}
	facts := ovs.Facts{Links: links}
	if err != nil || inDatapath(facts, nic) {
		errs = append(errs, openvswitch.Release(ctx, nic))
	}
	// A switch that starts without br-ex in its database leaves the interface
	// of that name in the kernel, and cannot make it again later.
	if _, left := facts.Link(ovs.BridgeName); err != nil || left {
		errs = append(errs, openvswitch.Release(ctx, ovs.BridgeName))
	}
	return errors.Join(errs...)
}

// inDatapath reports whether the NIC is a port of the kernel's Open vSwitch datapath.
func inDatapath(facts ovs.Facts, nic string) bool {
	link, _ := facts.Link(nic)
	datapath, ok := facts.Link("ovs-system")
	return ok && link.Master == datapath.Index
}
