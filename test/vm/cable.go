// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"context"
	"os"
)

// Cable is the network cable of one of a machine's uplinks.
type Cable struct {
	machine *Machine
	nic     int
	tap     *tap
	out     bool
}

// Cable returns the cable of eth0, eth1, and so on.
func (m *Machine) Cable(nic int) *Cable { return m.cables[nic] }

// Cut unplugs the cable: both ends lose their carrier. The cable stays unplugged after a power
// cycle, but not after [Machine.Restore].
func (c *Cable) Cut(ctx context.Context) error {
	c.out = true
	return c.updateCarrier(ctx)
}

// Blackhole simulates a remote failure of the uplink's network: the carrier stays, and no packet
// passes in either direction.
func (c *Cable) Blackhole(ctx context.Context) error { return c.tap.unplug(ctx) }

// Restore reverts Cut and Blackhole.
func (c *Cable) Restore(ctx context.Context) error {
	if err := c.tap.plug(ctx); err != nil {
		return err
	}
	c.out = false
	return c.updateCarrier(ctx)
}

// updateCarrier sets the carrier of both ends to the desired state.
func (c *Cable) updateCarrier(ctx context.Context) error {
	if err := c.tap.setLink(ctx, !c.out); err != nil || c.machine.missing[c.nic] {
		return err
	}
	return c.machine.qmp.execute(ctx, "set_link", map[string]any{"name": uplinkDevice(c.nic), "up": !c.out}, nil)
}

// createTaps creates the taps for a QEMU process that is about to start.
func (m *Machine) createTaps(ctx context.Context) ([]*os.File, error) {
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

// updateCables unplugs the cables that must be unplugged. If restore is set, it also plugs in
// the others.
func (m *Machine) updateCables(ctx context.Context, restore bool) error {
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

// CutLink unplugs the cables of all uplinks.
func (m *Machine) CutLink(ctx context.Context) error {
	for _, c := range m.cables {
		if err := c.Cut(ctx); err != nil {
			return err
		}
	}
	return nil
}

// BlackholeLink calls [Cable.Blackhole] for eth0.
func (m *Machine) BlackholeLink(ctx context.Context) error { return m.cables[0].Blackhole(ctx) }

// RestoreLink restores the initial state of every cable from Config.
func (m *Machine) RestoreLink(ctx context.Context) error {
	for i, nic := range m.cfg.nics() {
		m.cables[i].out = nic.Unplugged
	}
	return m.updateCables(ctx, true)
}
