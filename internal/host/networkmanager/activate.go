// SPDX-License-Identifier: Apache-2.0

package networkmanager

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/godbus/dbus/v5"
)

// ActiveState is NMActiveConnectionState.
type ActiveState uint32

// The states of an active connection.
const (
	Activating   ActiveState = 1
	Activated    ActiveState = 2
	Deactivating ActiveState = 3
	Deactivated  ActiveState = 4
)

// Activation is an activation of a profile in progress.
type Activation struct {
	client  *Client
	path    dbus.ObjectPath
	changes chan *dbus.Signal
}

// stateChanges returns the match options for the signals that end an
// activation.
func stateChanges() []dbus.MatchOption {
	return []dbus.MatchOption{
		dbus.WithMatchInterface(interfaceName("Connection.Active")),
		dbus.WithMatchMember("StateChanged"),
	}
}

// BeginActivation starts the activation of a profile on a device and does not
// wait. The zero Device is for a profile that creates its own device. The
// caller must call End on the result.
func (c *Client) BeginActivation(ctx context.Context, profile Ref, device Device) (*Activation, error) {
	on := cmp.Or(device.Path, root)
	a := &Activation{client: c, changes: make(chan *dbus.Signal, 64)}
	if err := c.bus.AddMatchSignalContext(ctx, stateChanges()...); err != nil {
		return nil, fmt.Errorf("subscribing to signals of NetworkManager: %w", err)
	}
	c.bus.Signal(a.changes)
	err := store("activating a NetworkManager profile",
		c.call(ctx, managerPath, "", "ActivateConnection", dbus.ObjectPath(profile), on, root), &a.path)
	if err != nil {
		a.End()
		return nil, err
	}
	return a, nil
}

// End unsubscribes from the signals; the activation continues.
func (a *Activation) End() {
	a.client.bus.RemoveSignal(a.changes)
	_ = a.client.bus.RemoveMatchSignal(stateChanges()...) // a remaining match is harmless
}

// Wait waits until the profile is active. It fails if NetworkManager aborts the
// activation.
func (a *Activation) Wait(ctx context.Context) error {
	var reason uint32
	safety := time.NewTicker(time.Second) // in case a signal is lost
	defer safety.Stop()
	for {
		active, err := a.client.active(ctx, a.path)
		if err != nil {
			return err
		}
		switch active.State {
		case Activated:
			return nil
		case Deactivated, 0:
			return fmt.Errorf("the activation failed in NetworkManager: %s; see: journalctl -u NetworkManager -b",
				cmp.Or(reasons[reason], fmt.Sprintf("reason %d", reason)))
		}
		select {
		case signal := <-a.changes:
			if signal.Path == a.path && len(signal.Body) == 2 {
				reason, _ = signal.Body[1].(uint32)
			}
		case <-safety.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting for NetworkManager to activate a profile: %w", ctx.Err())
		}
	}
}

// ActivateProfile activates a profile and waits until it is active.
func (c *Client) ActivateProfile(ctx context.Context, profile Ref, device Device) error {
	activation, err := c.BeginActivation(ctx, profile, device)
	if err != nil {
		return err
	}
	defer activation.End()
	return activation.Wait(ctx)
}

// active returns an active connection, or the zero Active if it no longer
// exists.
func (c *Client) active(ctx context.Context, path dbus.ObjectPath) (Active, error) {
	properties, err := c.optionalProperties(ctx, path, "Connection.Active")
	return Active{
		UUID:  value[string](properties, "Uuid"),
		State: ActiveState(value[uint32](properties, "State")),
	}, err
}

// reasons describes values of NMActiveConnectionStateReason.
var reasons = map[uint32]string{
	2:  "it was disconnected by a user or a client",
	3:  "the device was removed or another profile was activated on it",
	5:  "the address configuration is not valid",
	6:  "the activation timed out",
	9:  "a secret is missing",
	11: "the profile was deleted",
	12: "its controller (bridge or port) could not be activated",
	13: "its device could not be created",
}
