package vm

import (
	"context"
	"os"
)

// Cable is the cable of one of a machine's uplinks.
type Cable struct {
	machine *Machine
	nic     int
	tap     *tap
	out     bool
}

// Cable is the cable of eth0, eth1, ...
func (m *Machine) Cable(nic int) *Cable { return m.cables[nic] }

// Cut pulls the cable: both ends lose their carrier. It stays out over a power
// cut, but not over [Machine.Restore].
func (c *Cable) Cut(ctx context.Context) error {
	c.out = true
	return c.connect(ctx)
}

// Blackhole lets the uplink's segment fail further away: the carrier stays and
// nothing passes in either direction.
func (c *Cable) Blackhole(ctx context.Context) error { return c.tap.unplug(ctx) }

// Restore undoes Cut and Blackhole.
func (c *Cable) Restore(ctx context.Context) error {
	if err := c.tap.plug(ctx); err != nil {
		return err
	}
	c.out = false
	return c.connect(ctx)
}

// connect makes the carrier of both ends what it should be.
func (c *Cable) connect(ctx context.Context) error {
	if err := c.tap.setUp(ctx, !c.out); err != nil || c.machine.missing[c.nic] {
		return err
	}
	return c.machine.qmp.execute(ctx, "set_link", map[string]any{"name": uplinkDevice(c.nic), "up": !c.out}, nil)
}

// layCables makes the taps for a QEMU that is about to start.
func (m *Machine) layCables(ctx context.Context) ([]*os.File, error) {
	var files []*os.File
	for i, nic := range m.cfg.nics() {
		tap, err := newTap(ctx, nic.Network)
		if err != nil {
			return files, err
		}
		m.cables[i].tap = tap
		files = append(files, tap.file)
	}
	return files, nil
}

// connectCables pulls the cables that are out and, if asked to, plugs the
// others in again.
func (m *Machine) connectCables(ctx context.Context, restore bool) error {
	for _, c := range m.cables {
		var err error
		switch {
		case c.out:
			err = c.Cut(ctx)
		case restore:
			err = c.Restore(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// CutLink pulls the cables of all uplinks.
func (m *Machine) CutLink(ctx context.Context) error {
	for _, c := range m.cables {
		if err := c.Cut(ctx); err != nil {
			return err
		}
	}
	return nil
}

// BlackholeLink is [Cable.Blackhole] of eth0.
func (m *Machine) BlackholeLink(ctx context.Context) error { return m.cables[0].Blackhole(ctx) }

// RestoreLink has every cable in or out as Config says.
func (m *Machine) RestoreLink(ctx context.Context) error {
	for i, nic := range m.cfg.nics() {
		m.cables[i].out = nic.Loose
	}
	return m.connectCables(ctx, true)
}
