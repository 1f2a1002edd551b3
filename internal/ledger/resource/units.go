// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"context"
	"fmt"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// Units is the driver of systemd units on the running host: enabled or disabled, active or
// inactive.
type Units struct{ Systemd *systemd.Manager }

// Get returns the state of the unit. A unit that systemd does not find is absent.
func (u *Units) Get(ctx context.Context, c ledger.Change) (ledger.State, error) {
	state, err := u.Systemd.UnitState(ctx, c.Target)
	if err != nil {
		return ledger.State{}, err
	}
	if state.Load == "not-found" && state.File == "" {
		return ledger.State{}, nil
	}
	active := state.Active
	switch active {
	case "activating", "reloading", "deactivating":
		active = "active"
	case "failed":
		active = "inactive"
	}
	return ledger.State{Present: true, Enabled: normalizeEnablement(state.File), Active: active}, nil
}

// normalizeEnablement maps unit file states that a desired state does not distinguish to one state.
func normalizeEnablement(file string) string {
	switch file {
	case "enabled-runtime", "alias":
		return "enabled"
	case "masked-runtime":
		return "masked"
	}
	return file
}

// Set enables or disables the unit, and starts or stops it. Masks are symbolic links,
// created as separate changes.
func (u *Units) Set(ctx context.Context, c ledger.Change, now ledger.State) error {
	if err := u.setEnabled(ctx, c.Target, now.Enabled, c.Desired.Enabled); err != nil {
		return err
	}
	return u.setActive(ctx, c.Target, now.Active, c.Desired.Active)
}

func (u *Units) setEnabled(ctx context.Context, name, now, want string) error {
	switch want {
	case now:
		return nil
	case "enabled":
		return u.Systemd.Enable(ctx, name)
	case "disabled":
		return u.Systemd.Disable(ctx, name)
	}
	return nil // static, generated, ...: determined by the unit file
}

func (u *Units) setActive(ctx context.Context, name, now, want string) error {
	switch want {
	case now, "":
		return nil
	case "active":
		return u.Systemd.Start(ctx, name)
	case "inactive":
		return u.Systemd.Stop(ctx, name)
	}
	return fmt.Errorf("setting unit %s to %q: unsupported state", name, want)
}

// Restore reverts the unit to its previous state. A unit that did not exist is stopped and
// disabled while its file still exists. The file is removed later, because its item is
// older.
func (u *Units) Restore(ctx context.Context, c ledger.Change, before ledger.State) error {
	now, err := u.Get(ctx, c)
	if err != nil || !now.Present {
		return err
	}
	if !before.Present {
		before = ledger.State{Active: "inactive", Enabled: "disabled"}
	}
	if now.Enabled == "static" || c.Desired.Enabled == "" {
		before.Enabled = ""
	}
	if c.Desired.Active == "" && before.Active != "inactive" {
		before.Active = "" // the agent did not change the active state
	}
	if err := u.setActive(ctx, c.Target, now.Active, before.Active); err != nil {
		return err
	}
	// Stopping can leave the unit in the failed state, which it was not in before.
	if err := u.Systemd.ResetFailed(ctx, c.Target); err != nil {
		return err
	}
	return u.setEnabled(ctx, c.Target, now.Enabled, before.Enabled)
}
