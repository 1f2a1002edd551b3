package ledger

import (
	"context"
	"fmt"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
)

// Units is the driver of systemd units on the running machine: whether a unit
// is enabled, and whether it runs.
type Units struct{ Systemd *host.Systemd }

// Look tells how the unit is. A unit that systemd does not know is absent.
func (d *Units) Look(ctx context.Context, c Change) (State, error) {
	state, err := d.Systemd.UnitState(ctx, c.Target)
	if err != nil {
		return State{}, err
	}
	if state.Load == "not-found" && state.File == "" {
		return State{}, nil
	}
	active := state.Active
	switch active {
	case "activating", "reloading", "deactivating":
		active = "active"
	case "failed":
		active = "inactive"
	}
	return State{Present: true, Enabled: enablement(state.File), Active: active}, nil
}

// enablement folds the states that a wish does not tell apart.
func enablement(file string) string {
	switch file {
	case "enabled-runtime", "alias":
		return "enabled"
	case "masked-runtime":
		return "masked"
	}
	return file
}

// Make enables or disables the unit, and starts or stops it. Masks are links,
// made as such.
func (d *Units) Make(ctx context.Context, c Change, now State) error {
	if err := d.enable(ctx, c.Target, now.Enabled, c.Want.Enabled); err != nil {
		return err
	}
	return d.activate(ctx, c.Target, now.Active, c.Want.Active)
}

func (d *Units) enable(ctx context.Context, name, now, want string) error {
	if want == now || want == "" {
		return nil
	}
	switch want {
	case "enabled":
		return d.Systemd.Enable(ctx, name)
	case "disabled":
		return d.Systemd.Disable(ctx, name)
	}
	return nil // static, generated, ...: follows from the files
}

func (d *Units) activate(ctx context.Context, name, now, want string) error {
	if want == now || want == "" {
		return nil
	}
	switch want {
	case "active":
		return d.Systemd.Start(ctx, name)
	case "inactive":
		return d.Systemd.Stop(ctx, name)
	}
	return fmt.Errorf("%s shall be %q, which is not a state to bring a unit to", name, want)
}

// Restore brings the unit back to how it was. A unit that did not exist is
// stopped and disabled while its file is still there; the file goes later,
// being older in the ledger.
func (d *Units) Restore(ctx context.Context, c Change, before State) error {
	now, err := d.Look(ctx, c)
	if err != nil || !now.Present {
		return err
	}
	if !before.Present {
		before = State{Active: "inactive", Enabled: "disabled"}
	}
	if now.Enabled == "static" || c.Want.Enabled == "" {
		before.Enabled = ""
	}
	if c.Want.Active == "" && before.Active != "inactive" {
		before.Active = "" // never changed by us
	}
	if err := d.activate(ctx, c.Target, now.Active, before.Active); err != nil {
		return err
	}
	// A stop can leave a unit failed; it was not so before.
	if err := d.Systemd.ResetFailed(ctx, c.Target); err != nil {
		return err
	}
	return d.enable(ctx, c.Target, now.Enabled, before.Enabled)
}
