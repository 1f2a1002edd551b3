// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"strconv"
)

// port is a switch port for a machine's network card. The name of the attached tap changes with
// each power cycle.
type port struct {
	lab    *Lab
	number int
	tap    string
}

// Wiring configures the machine's switch ports. By default each port is a trunk for all VLANs,
// with VLAN 0 untagged.
type Wiring struct {
	// LACP combines the ports into one link aggregation group.
	LACP bool
	// Access maps ports to the VLANs of which they are access ports.
	Access map[int]int
}

// Plug implements [vm.Switch].
func (p *port) Plug(ctx context.Context, tap string) error {
	if err := p.lab.fabric.ip(ctx, "link", "set", "dev", tap, "mtu", "9000"); err != nil {
		return err
	}
	if p.tap == tap {
		return nil
	}
	if err := p.Unplug(ctx, p.tap); err != nil {
		return err
	}
	p.tap = tap
	return p.lab.addPorts(ctx)
}

// Unplug implements [vm.Switch].
func (p *port) Unplug(ctx context.Context, tap string) error {
	if tap == "" || p.tap != tap {
		return nil
	}
	err := p.lab.removePorts(ctx)
	p.tap = ""
	if err != nil {
		return err
	}
	return p.lab.addPorts(ctx)
}

const group = "machine" // the link aggregation group's name

// removePorts removes all of the machine's ports from the switch.
func (l *Lab) removePorts(ctx context.Context) error {
	args := []string{"--if-exists", "del-port", bridge, group}
	for _, p := range l.ports {
		if p.tap != "" {
			args = append(args, "--", "--if-exists", "del-port", bridge, p.tap)
		}
	}
	return l.fabric.vsctl(ctx, args...)
}

// addPorts adds the plugged ports to the switch as the setup defines.
func (l *Lab) addPorts(ctx context.Context) error {
	if err := l.removePorts(ctx); err != nil {
		return err
	}
	var plugged, args []string
	for _, p := range l.ports {
		if p.tap == "" {
			continue
		}
		plugged = append(plugged, p.tap)
		args = append(args, "--", "add-port", bridge, p.tap)
		if vlan := l.setup.Wiring.Access[p.number]; vlan != 0 {
			args = append(args, "tag="+strconv.Itoa(vlan))
		}
	}
	if len(plugged) == 0 {
		return nil
	}
	// Open vSwitch requires at least two ports in a bond. Until the second is plugged in, the
	// first is a plain port.
	if l.setup.Wiring.LACP && len(plugged) > 1 {
		args = append([]string{"--", "add-bond", bridge, group}, plugged...)
		args = append(args, "lacp=active", "bond_mode=balance-slb", "other_config:lacp-time=fast",
			"bond_updelay=0", "bond_downdelay=0")
	}
	return l.fabric.vsctl(ctx, args[1:]...)
}
