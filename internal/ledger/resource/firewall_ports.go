// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/firewalld"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

const (
	firewallTarget     = "firewalld zone "
	firewallNotRunning = 252 // exit status of firewall-cmd
	permanent          = "--permanent"
)

// FirewallPorts is the driver of the open ports in a zone of firewalld: of the running firewall and
// of its permanent configuration.
type FirewallPorts struct{}

// PortChange returns the change that opens ports in a zone, such as 10250/tcp or 30000-32767/udp.
func PortChange(reason, zone string, ports ...string) ledger.Change {
	return ledger.Change{
		Kind: ledger.FirewallPorts, Target: firewallTarget + zone, Reason: reason,
		Desired: ledger.State{Present: true, Value: strings.Join(ports, " "), Names: ports},
	}
}

// DefaultZone returns the default zone of firewalld, "" if firewalld is not running.
func DefaultZone(ctx context.Context) (string, error) {
	if !command.Exists("firewall-cmd") {
		return "", nil
	}
	out, err := command.Run(ctx, "firewall-cmd", "--get-default-zone")
	if isNotRunning(err) {
		return "", nil
	}
	return strings.TrimSpace(out), err
}

func isNotRunning(err error) bool {
	var exit *command.Error
	return errors.As(err, &exit) && exit.Code == firewallNotRunning
}

// Get returns the desired ports that are open as Value. Names lists all open ports, those of the
// permanent configuration with the prefix --permanent. If firewalld is not running, the permanent
// configuration counts.
func (FirewallPorts) Get(ctx context.Context, c ledger.Change) (ledger.State, error) {
	if !command.Exists("firewall-cmd") {
		return ledger.State{}, nil
	}
	running, stored, err := listPorts(ctx, c)
	if err != nil {
		return ledger.State{}, err
	}
	var open []string
	for _, port := range c.Desired.Names {
		if covers(running, port) && covers(stored, port) {
			open = append(open, port)
		}
	}
	names := slices.Clone(running)
	for _, port := range stored {
		names = append(names, permanent+" "+port)
	}
	return ledger.State{Present: true, Value: strings.Join(open, " "), Names: names}, nil
}

// Set opens the ports that are closed.
func (FirewallPorts) Set(ctx context.Context, c ledger.Change, _ ledger.State) error {
	running, stored, err := listPorts(ctx, c)
	if err != nil {
		return err
	}
	closed := func(open []string) []string {
		return slices.DeleteFunc(slices.Clone(c.Desired.Names), func(port string) bool { return covers(open, port) })
	}
	return errors.Join(changePorts(ctx, c, "", closed(running), nil), changePorts(ctx, c, permanent, closed(stored), nil))
}

// Restore closes the ports that were closed before. firewalld merges adjacent ranges, so ports that
// were open before are opened again.
func (FirewallPorts) Restore(ctx context.Context, c ledger.Change, before ledger.State) error {
	if !command.Exists("firewall-cmd") {
		return nil // the package was removed with its configuration
	}
	running, stored, err := listPorts(ctx, c)
	if err != nil {
		return err
	}
	var ranBefore, storedBefore []string
	for _, name := range before.Names {
		if port, isStored := strings.CutPrefix(name, permanent+" "); isStored {
			storedBefore = append(storedBefore, port)
		} else {
			ranBefore = append(ranBefore, name)
		}
	}
	restore := func(mode string, now, before []string) error {
		added := slices.DeleteFunc(slices.Clone(c.Desired.Names), func(port string) bool { return covers(before, port) || !covers(now, port) })
		return changePorts(ctx, c, mode, nil, added)
	}
	if err := errors.Join(restore("", running, ranBefore), restore(permanent, stored, storedBefore)); err != nil {
		return err
	}
	if running, stored, err = listPorts(ctx, c); err != nil {
		return err
	}
	isOpen := func(open []string) func(string) bool {
		return func(port string) bool { return covers(open, port) }
	}
	return errors.Join(
		changePorts(ctx, c, "", slices.DeleteFunc(ranBefore, isOpen(running)), nil),
		changePorts(ctx, c, permanent, slices.DeleteFunc(storedBefore, isOpen(stored)), nil))
}

// listPorts returns the open ports of the running firewall and of the permanent configuration.
func listPorts(ctx context.Context, c ledger.Change) (running, stored []string, err error) {
	if stored, err = firewall(ctx, c, permanent, "--list-ports"); err != nil {
		return nil, nil, err
	}
	running, err = firewall(ctx, c, "", "--list-ports")
	if isNotRunning(err) {
		return stored, stored, nil
	}
	return running, stored, err
}

func changePorts(ctx context.Context, c ledger.Change, mode string, open, closed []string) error {
	var args []string
	for _, port := range open {
		args = append(args, "--add-port="+port)
	}
	for _, port := range closed {
		args = append(args, "--remove-port="+port)
	}
	if len(args) == 0 {
		return nil
	}
	_, err := firewall(ctx, c, mode, args...)
	if mode == "" && isNotRunning(err) {
		return nil // firewalld reads the permanent configuration when it starts
	}
	return err
}

// firewall runs firewall-cmd for the zone of the change, or firewall-offline-cmd for the permanent
// configuration if firewalld is not running. It returns the words of the output.
func firewall(ctx context.Context, c ledger.Change, mode string, args ...string) ([]string, error) {
	zone := "--zone=" + strings.TrimPrefix(c.Target, firewallTarget)
	all := append([]string{zone}, args...)
	if mode != "" {
		all = append([]string{mode}, all...)
	}
	out, err := command.Run(ctx, "firewall-cmd", all...)
	if isNotRunning(err) && mode == permanent {
		out, err = command.Run(ctx, "firewall-offline-cmd", all[1:]...)
	}
	if err != nil {
		return nil, fmt.Errorf("configuring %s: %w", c.Target, err)
	}
	return strings.Fields(out), nil
}

// covers reports whether one of the open ports or ranges contains all of port.
func covers(open []string, port string) bool {
	want := parsePorts(port)
	return slices.ContainsFunc(open, func(one string) bool { return parsePorts(one).Contains(want) })
}

// parsePorts parses PORT/PROTOCOL or FIRST-LAST/PROTOCOL.
func parsePorts(text string) firewalld.Ports {
	ports, network, _ := strings.Cut(text, "/")
	parsed, _ := firewalld.ParsePorts(ports, network) // firewalld prints only numbers
	return parsed
}
