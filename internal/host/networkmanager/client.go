// Package networkmanager speaks to NetworkManager over the system bus: devices,
// profiles, activation and checkpoints. It decides nothing.
package networkmanager

import (
	"context"
	"errors"
	"fmt"

	"github.com/godbus/dbus/v5"
)

const (
	service     = "org.freedesktop.NetworkManager"
	managerPath = "/org/freedesktop/NetworkManager"
	root        = dbus.ObjectPath("/") // where a call wants an object and there is none
)

// ErrNotRunning means that NetworkManager is not on the bus.
var ErrNotRunning = errors.New("NetworkManager is not running")

// capabilityOVS is NM_CAPABILITY_OVS: the Open vSwitch plugin is loaded.
const capabilityOVS = 2

// Client is a connection to the running NetworkManager.
type Client struct {
	bus *dbus.Conn
}

// Open connects to NetworkManager; ErrNotRunning when nobody answers.
func Open(ctx context.Context) (*Client, error) {
	bus, err := dbus.ConnectSystemBus() // not bound to ctx: a way back has to work after Ctrl-C
	if err != nil {
		return nil, fmt.Errorf("connecting to the system bus: %w", err)
	}
	var running bool
	err = bus.BusObject().CallWithContext(ctx, "org.freedesktop.DBus.NameHasOwner", 0, service).Store(&running)
	if err == nil && !running {
		err = ErrNotRunning
	}
	if err != nil {
		bus.Close()
		return nil, fmt.Errorf("looking for NetworkManager: %w", err)
	}
	return &Client{bus: bus}, nil
}

// Close ends the connection.
func (c *Client) Close() { c.bus.Close() }

// Info is what NetworkManager is and can do.
type Info struct {
	Running bool   `json:"running"`
	Version string `json:"version"`
	OVS     bool   `json:"ovs"` // the Open vSwitch plugin is loaded
}

// Info asks for version and capabilities.
func (c *Client) Info(ctx context.Context) (Info, error) {
	properties, err := c.properties(ctx, managerPath, "")
	if err != nil {
		return Info{}, err
	}
	info := Info{Running: true, Version: value[string](properties, "Version")}
	for _, capability := range value[[]uint32](properties, "Capabilities") {
		info.OVS = info.OVS || capability == capabilityOVS
	}
	return info, nil
}

// properties reads all properties of an interface, named without its prefix.
func (c *Client) properties(ctx context.Context, path dbus.ObjectPath, name string) (map[string]dbus.Variant, error) {
	var properties map[string]dbus.Variant
	err := c.bus.Object(service, path).
		CallWithContext(ctx, "org.freedesktop.DBus.Properties.GetAll", 0, interfaceName(name)).Store(&properties)
	if err != nil {
		return nil, fmt.Errorf("asking NetworkManager about %s: %w", path, err)
	}
	return properties, nil
}

// call calls a method of an interface, named without its prefix.
func (c *Client) call(ctx context.Context, path dbus.ObjectPath, name, method string, args ...any) *dbus.Call {
	return c.bus.Object(service, path).CallWithContext(ctx, interfaceName(name)+"."+method, 0, args...)
}

func interfaceName(name string) string {
	if name == "" {
		return service
	}
	return service + "." + name
}

// value takes a property of type T, its zero value where it is missing.
func value[T any](properties map[string]dbus.Variant, name string) T {
	v, _ := properties[name].Value().(T)
	return v
}

// gone tells the errors that mean "this object does not exist any more".
func gone(err error) bool {
	var busErr dbus.Error
	return errors.As(err, &busErr) && (busErr.Name == "org.freedesktop.DBus.Error.UnknownMethod" ||
		busErr.Name == "org.freedesktop.DBus.Error.UnknownObject")
}
