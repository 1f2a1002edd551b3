package networkmanager

import (
	"context"
	"fmt"
	"time"

	"github.com/godbus/dbus/v5"
)

// ActiveState is NMActiveConnectionState.
type ActiveState uint32

// The states of a profile that is in use.
const (
	Activating   ActiveState = 1
	Activated    ActiveState = 2
	Deactivating ActiveState = 3
	Deactivated  ActiveState = 4
)

// BeginActivation asks for a profile to be brought up on a device (the zero
// Device for a profile that makes its own) and does not wait.
func (c *Client) BeginActivation(ctx context.Context, profile Ref, device Device) (dbus.ObjectPath, error) {
	on := device.Path
	if on == "" {
		on = root
	}
	var active dbus.ObjectPath
	if err := c.call(ctx, managerPath, "", "ActivateConnection", dbus.ObjectPath(profile), on, root).Store(&active); err != nil {
		return "", fmt.Errorf("asking NetworkManager to activate a profile: %w", err)
	}
	return active, nil
}

// ActivateProfile brings a profile up and waits until that is done.
func (c *Client) ActivateProfile(ctx context.Context, profile Ref, device Device) error {
	changes := make(chan *dbus.Signal, 64)
	c.bus.Signal(changes)
	defer c.bus.RemoveSignal(changes)
	match := []dbus.MatchOption{dbus.WithMatchInterface(interfaceName("Connection.Active")), dbus.WithMatchMember("StateChanged")}
	if err := c.bus.AddMatchSignalContext(ctx, match...); err != nil {
		return fmt.Errorf("listening to NetworkManager: %w", err)
	}
	defer c.bus.RemoveMatchSignal(match...) //nolint:errcheck // a match too many costs nothing
	active, err := c.BeginActivation(ctx, profile, device)
	if err != nil {
		return err
	}
	return c.waitActivated(ctx, active, changes)
}

func (c *Client) waitActivated(ctx context.Context, path dbus.ObjectPath, changes <-chan *dbus.Signal) error {
	var reason uint32
	safety := time.NewTicker(time.Second) // in case a signal was dropped
	defer safety.Stop()
	for {
		active, err := c.active(ctx, path)
		if err != nil {
			return err
		}
		switch active.State {
		case Activated:
			return nil
		case Deactivated, 0:
			return fmt.Errorf("NetworkManager gave up: %s; see: journalctl -u NetworkManager -b", reasonText(reason))
		}
		select {
		case signal := <-changes:
			if signal.Path == path && len(signal.Body) == 2 {
				reason, _ = signal.Body[1].(uint32)
			}
		case <-safety.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting for NetworkManager to activate a profile: %w", ctx.Err())
		}
	}
}

// active reads an active connection; one that is gone is the zero Active.
func (c *Client) active(ctx context.Context, path dbus.ObjectPath) (Active, error) {
	if path == "" || path == root {
		return Active{}, nil
	}
	properties, err := c.properties(ctx, path, "Connection.Active")
	if gone(err) {
		return Active{}, nil
	}
	if err != nil {
		return Active{}, err
	}
	return Active{
		UUID: value[string](properties, "Uuid"), Path: path,
		State: ActiveState(value[uint32](properties, "State")),
	}, nil
}

// reasonText puts NMActiveConnectionStateReason into words.
func reasonText(reason uint32) string {
	switch reason {
	case 2:
		return "somebody disconnected it"
	case 3:
		return "the device went away or was given to another profile"
	case 5:
		return "the address configuration is not valid"
	case 6:
		return "it took too long"
	case 9:
		return "a secret is missing"
	case 11:
		return "the profile was deleted"
	case 12:
		return "the bridge or port that it belongs to could not be activated"
	case 13:
		return "its device could not be created"
	}
	return fmt.Sprintf("reason %d", reason)
}
