// Package uplink has the kinds of uplink that hosts are found with, as data:
// what the lab serves for one, what turns a fresh machine into one, and how the
// state of its network is written down so that it can be compared.
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
	// Lab is what it needs around the machine.
	Lab lab.Setup
	// Cables is how many of the machine's cables are in, 1 unless given.
	Cables int
	// Guest makes a fresh machine one of this kind: a shell script, after which
	// the addresses are there or on their way.
	Guest string
	// Ready is a shell condition that holds when they are there.
	Ready string
	// Uplink is the interface that has them.
	Uplink string
	// Flags are given to the agent.
	Flags string
	// Overtakes tells that another interface has a better default route, and
	// br-ex's is better than that: what leaves the host goes another way.
	Overtakes bool
	// Variant tells a kind that differs little from another one, and is left
	// out where time is short.
	Variant bool
}

// clean removes the profiles that NetworkManager made up for the cards.
const clean = `nmcli -g UUID,TYPE connection show | awk -F: '/ethernet/{print $1}' | xargs -r nmcli connection delete >/dev/null
`

// Set makes a machine one of this kind, one that was just restored to its
// fresh state, and waits until it is.
func (k Kind) Set(ctx context.Context, m *vm.Machine) error {
	for i := 1; i < k.Cables; i++ {
		if err := m.Cable(i).Restore(ctx); err != nil {
			return err
		}
	}
	if _, err := m.Output(ctx, "set -e\n"+k.Guest); err != nil {
		return fmt.Errorf("setting up %s: %w", k.Name, err)
	}
	if err := k.Await(ctx, m); err != nil {
		return err
	}
	// A power cut soon after must not take the profiles; on a host they are old.
	_, err := m.Output(ctx, "sync")
	return err
}

// Await waits until the addresses of the kind are there, on the NIC or on br-ex.
func (k Kind) Await(ctx context.Context, m *vm.Machine) error {
	_, err := m.Output(ctx, "for i in $(seq 300); do if "+k.Ready+"; then exit 0; fi; sleep 0.2; done; ip address; ip route; exit 1")
	if err != nil {
		return fmt.Errorf("waiting for the addresses of %s: %w", k.Name, err)
	}
	return nil
}

// Find picks kinds by their names, separated by commas or spaces; all of them
// for none, and all but the variants for "usual".
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
