// SPDX-License-Identifier: Apache-2.0

// Package uplink defines the kinds of uplinks to test as data. Each kind has the services of the
// lab and a script that configures the machine. The package also gathers the state of the
// machine's network for comparisons.
package uplink

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/test/vm"
	"github.com/hcp-node-agent/hcp-node-agent/test/vm/lab"
)

// Kind is a kind of uplink.
type Kind struct {
	Name string
	// Lab is the required setup of the lab.
	Lab lab.Setup
	// Cables is the number of plugged cables. Default: 1.
	Cables int
	// Script is a shell script that configures the uplink on a fresh machine. It need not wait for
	// the addresses.
	Script string
	// Ready is a shell condition that holds when the addresses are configured.
	Ready string
	// Uplink is the interface with the addresses.
	Uplink string
	// Flags are additional flags for the agent.
	Flags string
	// CompetingRoute reports whether another interface has a better default route and br-ex gets an
	// even better one, so that outgoing packets take another route.
	CompetingRoute bool
	// Variant marks a kind that differs little from another kind and can be omitted to save time.
	Variant bool
}

// deleteProfiles removes the profiles that NetworkManager has created for the network cards.
const deleteProfiles = `nmcli -g UUID,TYPE connection show | awk -F: '/ethernet/{print $1}' |
	xargs -r nmcli connection delete >/dev/null
`

// Configure configures a machine, just restored to its fresh state, with this kind of uplink and waits
// until it is ready.
func (k Kind) Configure(ctx context.Context, m *vm.Machine) error {
	for i := 1; i < k.Cables; i++ {
		if err := m.Cable(i).Restore(ctx); err != nil {
			return err
		}
	}
	if _, err := m.Output(ctx, "set -e\n"+k.Script); err != nil {
		return fmt.Errorf("setting up %s: %w", k.Name, err)
	}
	if err := k.Await(ctx, m); err != nil {
		return err
	}
	// A power cut must not lose the profiles, which on a real host have long been flushed.
	_, err := m.Output(ctx, "sync")
	return err
}

// Await waits until the addresses of the kind are configured, on the NIC or on br-ex.
func (k Kind) Await(ctx context.Context, m *vm.Machine) error {
	if err := m.Await(ctx, k.Ready+" || { ip address; ip route; false; }"); err != nil {
		return fmt.Errorf("waiting for the addresses of %s: %w", k.Name, err)
	}
	return nil
}

// Find returns kinds by their names, separated by commas or spaces. It returns all kinds for "",
// and all but the variants for "usual".
func Find(names string) ([]Kind, error) {
	if names == "usual" {
		return slices.DeleteFunc(Kinds(), func(k Kind) bool { return k.Variant }), nil
	}
	wanted := strings.FieldsFunc(names, func(r rune) bool { return r == ',' || r == ' ' })
	if len(wanted) == 0 {
		return Kinds(), nil
	}
	var found []Kind
	for _, name := range wanted {
		before := len(found)
		for _, k := range Kinds() {
			if k.Name == name {
				found = append(found, k)
			}
		}
		if len(found) == before {
			return nil, fmt.Errorf("uplink: there is no kind %q", name)
		}
	}
	return found, nil
}
