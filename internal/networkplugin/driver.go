// SPDX-License-Identifier: Apache-2.0

package networkplugin

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Kind is the kind of the host's network as the network plugin changes it.
const Kind = ledger.Kind("network plugin")

// NewChange records the state of the host's network before the network
// plugin, kubelet and CRI-O change it.
func NewChange() ledger.Change {
	return ledger.Change{
		Kind:    Kind,
		Target:  "OVN-Kubernetes",
		Reason:  "the network plugin, kubelet and CRI-O add to the host's network",
		Desired: ledger.State{Present: true},
	}
}

// Driver is a snapshot of the host's network. An undo removes what the network plugin,
// kubelet and CRI-O made since the join.
type Driver struct {
	Systemd          *systemd.Manager // nil: Open vSwitch is not started where it does not run
	Log              report.Log
	ServiceAddresses []netip.Addr // addresses in the cluster's service networks
}

// databaseUnread is the key that stands for a database that the join could not
// read. Nothing is removed from such a database, because its earlier
// contents are unknown.
const databaseUnread = "Open vSwitch database unread"

// Get returns the keys of the leftovers that exist now.
func (d *Driver) Get(ctx context.Context, _ ledger.Change) (ledger.State, error) {
	facts, err := gather(ctx)
	if err != nil {
		return ledger.State{}, err
	}
	state := ledger.State{Present: true}
	for _, leftover := range listLeftovers(facts) {
		state.Names = append(state.Names, leftover.Key)
	}
	if facts.Database == nil && hasDatabase() {
		state.Names = append(state.Names, databaseUnread)
	}
	return state, nil
}

// Restore removes what came since before, gathers the facts again, and fails
// with the command for each thing that remains.
func (d *Driver) Restore(ctx context.Context, _ ledger.Change, before ledger.State) error {
	stop, err := d.startDatabase(ctx)
	if err != nil {
		return err
	}
	err = d.remove(ctx, before.Names)
	return errors.Join(err, stop())
}

// remove removes what came since before in two passes. The second one removes what the first one
// could not, because another thing had to be removed first. It also removes what could have been
// removed together with another thing.
func (d *Driver) remove(ctx context.Context, before []string) error {
	count := 0
	var failed map[string]error
	for _, isSecond := range []bool{false, true} {
		added, restore, err := d.changesSince(ctx, before)
		if err != nil {
			return err
		}
		for _, setting := range restore {
			if err := runCommand(ctx, setting); err != nil {
				return fmt.Errorf("restoring a setting of Open vSwitch: %w", err)
			}
		}
		if len(added) > 0 {
			d.Log.Wait("waiting for the removal of the network plugin's objects from Open vSwitch and the packet filter", "")
		}
		var removed int
		removed, failed = removeAll(ctx, added, isSecond)
		count += removed
	}
	if count > 0 {
		d.Log.Note(fmt.Sprintf("removed objects (interfaces, bridges, rules, chains and settings) "+
			"of the network plugin, kubelet and CRI-O: %d", count))
	}
	rest, _, err := d.changesSince(ctx, before)
	if err != nil {
		return err
	}
	return remaining(rest, failed)
}

// changesSince returns the leftovers that came since before, and the commands that restore
// the settings of Open vSwitch that changed.
func (d *Driver) changesSince(ctx context.Context, before []string) (added []leftover, restore [][]string, err error) {
	facts, err := gather(ctx)
	if err != nil {
		return nil, nil, err
	}
	if slices.Contains(before, databaseUnread) {
		facts.Database = nil
	}
	facts.Services = d.ServiceAddresses
	all := listLeftovers(facts)
	if facts.Database != nil {
		restore = restoredSettings(all, before)
	}
	return since(all, before), restore, nil
}

// removeAll runs the commands for a list of leftovers and returns how many
// succeeded, and the errors by key.
func removeAll(ctx context.Context, list []leftover, removeDependent bool) (int, map[string]error) {
	done, failed := 0, map[string]error{}
	for _, leftover := range list {
		if leftover.Prepare != nil {
			failed[leftover.Key] = runCommand(ctx, leftover.Prepare)
		}
	}
	for _, leftover := range list {
		if leftover.IsDependent && !removeDependent {
			continue
		}
		if err := errors.Join(failed[leftover.Key], runCommand(ctx, leftover.Remove)); err != nil {
			failed[leftover.Key] = err
			continue
		}
		done++
	}
	return done, failed
}

// remaining returns the error for what is still there, with the commands that
// remove it.
func remaining(rest []leftover, failed map[string]error) error {
	if len(rest) == 0 {
		return nil
	}
	var lines, commands []string
	if slices.ContainsFunc(rest, func(l leftover) bool { return l.Remove[0] == "ovs-vsctl" }) {
		commands = append(commands, "systemctl start openvswitch") // which the rest of the undo can stop
	}
	for _, leftover := range rest {
		line := leftover.Key
		if err := failed[leftover.Key]; err != nil {
			line += " (" + err.Error() + ")"
		}
		lines = append(lines, line)
		commands = append(commands, leftover.command())
	}
	return report.Fail(report.Failed, report.Remedy(strings.Join(commands, "\n")),
		"objects of the network plugin remain on this host: %s", strings.Join(lines, "; "))
}

// runCommand runs a removal. ovs-vsctl must not wait for a switch that does not
// run.
func runCommand(ctx context.Context, argv []string) error {
	if argv[0] == "ovs-vsctl" && openvswitch.CheckRunning(ctx) != nil {
		argv = slices.Insert(slices.Clone(argv), 1, "--no-wait")
	}
	_, err := command.Run(ctx, argv[0], argv[1:]...)
	return err
}
