package lab

import (
	"context"
	"strconv"
)

// port is a socket of the switch for a machine's card. What is plugged in has
// another name after each power cycle.
type port struct {
	lab    *Lab
	number int
	tap    string
}

// Wiring is how the switch treats the machine's ports. By default each takes
// frames of all VLANs, tagged, and of VLAN 0 without a tag.
type Wiring struct {
	// LACP makes the ports one link aggregation group.
	LACP bool
	// Access gives ports a VLAN each, without tags.
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
	return p.lab.wire(ctx)
}

// Unplug implements [vm.Switch].
func (p *port) Unplug(ctx context.Context, tap string) error {
	if tap == "" || p.tap != tap {
		return nil
	}
	err := p.lab.unwire(ctx)
	p.tap = ""
	if err != nil {
		return err
	}
	return p.lab.wire(ctx)
}

const group = "machine" // the link aggregation group's name

// unwire takes all of the machine's ports out of the switch.
func (l *Lab) unwire(ctx context.Context) error {
	args := []string{"--if-exists", "del-port", bridge, group}
	for _, p := range l.ports {
		if p.tap != "" {
			args = append(args, "--", "--if-exists", "del-port", bridge, p.tap)
		}
	}
	return l.fabric.vsctl(ctx, args...)
}

// wire puts them in again, as the arrangement says.
func (l *Lab) wire(ctx context.Context) error {
	if err := l.unwire(ctx); err != nil {
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
	// Open vSwitch has no group of one: until the second is there it is a port.
	if l.setup.Wiring.LACP && len(plugged) > 1 {
		args = append([]string{"--", "add-bond", bridge, group}, plugged...)
		args = append(args, "lacp=active", "bond_mode=balance-slb", "other_config:lacp-time=fast",
			"bond_updelay=0", "bond_downdelay=0")
	}
	return l.fabric.vsctl(ctx, args[1:]...)
}
