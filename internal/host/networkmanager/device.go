// SPDX-License-Identifier: Apache-2.0

package networkmanager

import (
	"context"
	"fmt"

	"github.com/godbus/dbus/v5"
)

// Device is a network device of NetworkManager. Three devices can have the same
// name: an Open vSwitch bridge, its port and its interface.
type Device struct {
	Path    dbus.ObjectPath `json:"-"` // not stable across restarts
	Name    string          `json:"name"`
	Type    DeviceType      `json:"type"`
	Managed bool            `json:"managed"`
	MAC     string          `json:"mac"`
	MTU     uint32          `json:"mtu"`
	Active  Active          `json:"active"`
	IPv4    IP              `json:"ipv4"`
	IPv6    IP              `json:"ipv6"`
}

// Active is the active connection of a device.
type Active struct {
	UUID  string      `json:"uuid,omitempty"`
	State ActiveState `json:"state,omitempty"`
}

// IP returns the device's configuration of a family.
func (d Device) IP(family Family) IP {
	if family == IPv4 {
		return d.IPv4
	}
	return d.IPv6
}

// Devices returns all devices. Only those that NetworkManager manages include
// their configuration: a node has hundreds of others, one per pod.
func (c *Client) Devices(ctx context.Context) ([]Device, error) {
	return c.devices(ctx, func(Device) bool { return true })
}

// AddressDevice returns the device of that name that has the addresses: for an Open
// vSwitch bridge, the interface.
func (c *Client) AddressDevice(ctx context.Context, name string) (Device, error) {
	return c.find(ctx, name, func(d Device) bool { return d.Type != OVSBridge && d.Type != OVSPort })
}

// BridgeDevice returns the device of an Open vSwitch bridge itself.
func (c *Client) BridgeDevice(ctx context.Context, name string) (Device, error) {
	return c.find(ctx, name, func(d Device) bool { return d.Type == OVSBridge })
}

func (c *Client) find(ctx context.Context, name string, is func(Device) bool) (Device, error) {
	devices, err := c.devices(ctx, func(d Device) bool { return d.Name == name && is(d) })
	if err != nil {
		return Device{}, err
	}
	if len(devices) == 0 {
		return Device{}, fmt.Errorf("NetworkManager has no device %s", name)
	}
	return devices[0], nil
}

func (c *Client) devices(ctx context.Context, wanted func(Device) bool) ([]Device, error) {
	properties, err := c.properties(ctx, managerPath, "")
	if err != nil {
		return nil, err
	}
	var devices []Device
	for _, path := range value[[]dbus.ObjectPath](properties, "AllDevices") {
		properties, err := c.properties(ctx, path, "Device")
		if isGone(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		device := Device{
			Path:    path,
			Name:    value[string](properties, "Interface"),
			Type:    DeviceType(value[uint32](properties, "DeviceType")),
			Managed: value[bool](properties, "Managed"),
			MAC:     value[string](properties, "HwAddress"),
			MTU:     value[uint32](properties, "Mtu"),
		}
		if !wanted(device) {
			continue
		}
		if device.Managed {
			if err := c.loadConfiguration(ctx, &device, properties); err != nil {
				return nil, err
			}
		}
		devices = append(devices, device)
	}
	return devices, nil
}

// loadConfiguration sets the active connection and the addresses of a device.
func (c *Client) loadConfiguration(ctx context.Context, device *Device, properties map[string]dbus.Variant) error {
	var err error
	if device.Active, err = c.active(ctx, value[dbus.ObjectPath](properties, "ActiveConnection")); err != nil {
		return err
	}
	if device.IPv4, err = c.ip(ctx, properties, IPv4); err != nil {
		return err
	}
	device.IPv6, err = c.ip(ctx, properties, IPv6)
	return err
}
