// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/firewalld"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/wrap"
)

// FirewallPortsKind is the kind of open ports in a zone of firewalld.
const FirewallPortsKind ledger.Kind = "ports"

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
		Kind: FirewallPortsKind, Target: firewallTarget + zone, Reason: reason,
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

// openPorts are the open ports of the running firewall and of the permanent configuration.
type openPorts struct {
	Runtime   []string `json:"runtime"`
	Permanent []string `json:"permanent"`
}

// in returns the ports of the configuration that an option of firewall-cmd selects.
func (p openPorts) in(mode string) []string {
	if mode == permanent {
		return p.Permanent
	}
	return p.Runtime
}

// configurations are the options of firewall-cmd that select the running firewall and the permanent configuration.
var configurations = []string{"", permanent}

// NewData returns a pointer to the open ports.
func (FirewallPorts) NewData() any { return new(openPorts) }

// Get returns the desired ports that are open as Value, and all open ports as Data. If firewalld is not running, the
// permanent configuration counts.
func (FirewallPorts) Get(ctx context.Context, c ledger.Change) (ledger.State, error) {
	if !command.Exists("firewall-cmd") {
		return ledger.State{}, nil
	}
	now, err := listPorts(ctx, c)
	if err != nil {
		return ledger.State{}, err
	}
	data, err := json.Marshal(now)
	open := portsIn(c.Desired.Names, func(port string) bool {
		return covers(now.Runtime, port) && covers(now.Permanent, port)
	})
	return ledger.State{Present: true, Value: strings.Join(open, " "), Data: data}, err
}

// Set opens the ports that are closed.
func (FirewallPorts) Set(ctx context.Context, c ledger.Change, _ ledger.State) error {
	return changePorts(ctx, c, "--add-port=", func(mode string, now openPorts) []string {
		return portsIn(c.Desired.Names, func(port string) bool { return !covers(now.in(mode), port) })
	})
}

// Restore closes the ports that were closed before. firewalld merges adjacent ranges, so ports that
// were open before are opened again.
func (FirewallPorts) Restore(ctx context.Context, c ledger.Change, state ledger.State) error {
	if !command.Exists("firewall-cmd") {
		return nil // the package was removed with its configuration
	}
	var before openPorts
	if err := state.DecodeData(&before); err != nil {
		return fmt.Errorf("decoding the open ports: %w", err)
	}
	err := changePorts(ctx, c, "--remove-port=", func(mode string, now openPorts) []string {
		return portsIn(c.Desired.Names, func(port string) bool {
			return !covers(before.in(mode), port) && covers(now.in(mode), port)
		})
	})
	if err != nil {
		return err
	}
	return changePorts(ctx, c, "--add-port=", func(mode string, now openPorts) []string {
		return portsIn(before.in(mode), func(port string) bool { return !covers(now.in(mode), port) })
	})
}

// portsIn returns the ports for which want returns true.
func portsIn(ports []string, want func(string) bool) []string {
	return slices.DeleteFunc(slices.Clone(ports), func(port string) bool { return !want(port) })
}

func listPorts(ctx context.Context, c ledger.Change) (openPorts, error) {
	stored, err := firewall(ctx, c, permanent, "--list-ports")
	if err != nil {
		return openPorts{}, err
	}
	running, err := firewall(ctx, c, "", "--list-ports")
	if isNotRunning(err) {
		running, err = stored, nil
	}
	return openPorts{Runtime: running, Permanent: stored}, err
}

// changePorts passes the ports that choose returns to an option of firewall-cmd, for each configuration.
func changePorts(
	ctx context.Context, c ledger.Change, option string, choose func(mode string, now openPorts) []string,
) error {
	now, err := listPorts(ctx, c)
	if err != nil {
		return err
	}
	var errs []error
	for _, mode := range configurations {
		var args []string
		for _, port := range choose(mode, now) {
			args = append(args, option+port)
		}
		if len(args) == 0 {
			continue
		}
		_, err := firewall(ctx, c, mode, args...)
		if mode == permanent || !isNotRunning(err) { // firewalld reads the permanent configuration when it starts
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
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
	return strings.Fields(out), wrap.Errorf(err, "configuring %s", c.Target)
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
