// SPDX-License-Identifier: Apache-2.0

package bustest

import (
	systemd "github.com/coreos/go-systemd/v22/dbus"
	"github.com/godbus/dbus/v5"
)

// ListedUnits returns the response of systemd's method ListUnitsByNames for units in the same state.
func ListedUnits(names []string, load, active string) []systemd.UnitStatus {
	listed := make([]systemd.UnitStatus, 0, len(names))
	for _, name := range names {
		listed = append(listed, systemd.UnitStatus{
			Name: name, LoadState: load, ActiveState: active, Path: "/unit", JobPath: "/",
		})
	}
	return listed
}

// UnitProperties are the properties of a unit that has been activated once, successfully.
type UnitProperties struct{}

// Get returns a property.
func (UnitProperties) Get(_, name string) (dbus.Variant, *dbus.Error) {
	switch name {
	case "ActiveEnterTimestamp":
		return dbus.MakeVariant(uint64(1)), nil
	case "MainPID":
		return dbus.MakeVariant(uint32(0)), nil
	case "Result":
		return dbus.MakeVariant("success"), nil
	}
	return dbus.Variant{}, dbus.NewError("org.freedesktop.DBus.Error.UnknownProperty", nil)
}
