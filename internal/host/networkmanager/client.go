// SPDX-License-Identifier: Apache-2.0

// Package networkmanager is a client of NetworkManager's D-Bus API: devices,
// profiles, activation and checkpoints. It makes no decisions.
package networkmanager

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/bus"
	"github.com/hcp-node-agent/hcp-node-agent/internal/wait"
	"github.com/hcp-node-agent/hcp-node-agent/internal/wrap"
)

const (
	service     = "org.freedesktop.NetworkManager"
	managerPath = "/org/freedesktop/NetworkManager"
	root        = dbus.ObjectPath("/") // for a call that requires an object when there is none
)

// capabilityOVS is NM_CAPABILITY_OVS: the Open vSwitch plugin is loaded.
const capabilityOVS = 2

// Client is a connection to the running NetworkManager.
type Client struct {
	bus *dbus.Conn
}

// Open connects to NetworkManager. It waits for a NetworkManager that has just been started and does not have its
// objects yet. It fails if NetworkManager is not running.
func Open(ctx context.Context) (*Client, error) {
	connection, err := bus.Connect(context.WithoutCancel(ctx)) // a rollback must work after Ctrl-C
	if err != nil {
		return nil, err
	}
	var running bool
	err = connection.BusObject().CallWithContext(ctx, "org.freedesktop.DBus.NameHasOwner", 0, service).Store(&running)
	if err == nil && !running {
		err = errors.New("NetworkManager is not running")
	}
	if err != nil {
		connection.Close()
		return nil, fmt.Errorf("checking for NetworkManager: %w", err)
	}
	c := &Client{bus: connection}
	c.awaitStart(ctx)
	return c, nil
}

// startTimeout limits the time from the start of NetworkManager's unit, when it has its name on the bus, to its first
// response.
const startTimeout = 30 * time.Second

// awaitStart waits until the objects of NetworkManager exist. Without them, the next call fails.
func (c *Client) awaitStart(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	_, err := c.properties(ctx, managerPath, "")
	for isGone(err) && wait.Sleep(ctx, 100*time.Millisecond) == nil {
		_, err = c.properties(ctx, managerPath, "")
	}
}

// Close closes the connection.
func (c *Client) Close() { c.bus.Close() }

// Info contains NetworkManager's version and capabilities.
type Info struct {
	Running  bool   `json:"running"`
	Version  string `json:"version"`
	OVS      bool   `json:"ovs"`                // the Open vSwitch plugin is loaded
	Starting bool   `json:"starting,omitempty"` // it still activates the profiles of the boot
}

// Info returns NetworkManager's version and capabilities.
func (c *Client) Info(ctx context.Context) (Info, error) {
	properties, err := c.properties(ctx, managerPath, "")
	if err != nil {
		return Info{}, err
	}
	return Info{
		Running:  true,
		Version:  value[string](properties, "Version"),
		OVS:      slices.Contains(value[[]uint32](properties, "Capabilities"), capabilityOVS),
		Starting: value[bool](properties, "Startup"),
	}, nil
}

// properties returns all properties of an interface, whose name is given
// without its prefix.
func (c *Client) properties(ctx context.Context, path dbus.ObjectPath, name string) (map[string]dbus.Variant, error) {
	var properties map[string]dbus.Variant
	call := c.bus.Object(service, path).
		CallWithContext(ctx, "org.freedesktop.DBus.Properties.GetAll", 0, interfaceName(name))
	err := store(fmt.Sprintf("reading %s from NetworkManager", path), call, &properties)
	return properties, err
}

// call calls a method of an interface, whose name is given without its prefix.
func (c *Client) call(ctx context.Context, path dbus.ObjectPath, name, method string, args ...any) *dbus.Call {
	return c.bus.Object(service, path).CallWithContext(ctx, interfaceName(name)+"."+method, 0, args...)
}

// store stores the results of a call. Its error begins with the text in doing.
func store(doing string, call *dbus.Call, results ...any) error {
	err := call.Err
	if err == nil && len(results) > 0 {
		err = call.Store(results...)
	}
	return wrap.Errorf(err, "%s", doing)
}

func interfaceName(name string) string {
	if name == "" {
		return service
	}
	return service + "." + name
}

// value returns a property of type T, or the zero value if it is missing.
func value[T any](properties map[string]dbus.Variant, name string) T {
	v, _ := properties[name].Value().(T)
	return v
}

// isGone reports whether err means that an object no longer exists.
func isGone(err error) bool {
	var busErr dbus.Error
	return errors.As(err, &busErr) && (busErr.Name == "org.freedesktop.DBus.Error.UnknownMethod" ||
		busErr.Name == "org.freedesktop.DBus.Error.UnknownObject")
}
