// SPDX-License-Identifier: Apache-2.0

package networkmanager

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/godbus/dbus/v5"
)

// Ref identifies a profile in the running NetworkManager; it changes at a
// restart.
type Ref dbus.ObjectPath

// Profile is a connection profile.
type Profile struct {
	Ref      Ref      `json:"-"`
	Settings Settings `json:"settings"`
	File     string   `json:"file,omitempty"` // path of the file
	External bool     `json:"external"`       // only reflects the configuration of another program
}

// IsVolatile reports whether a profile is lost at a reboot, such as one that
// NetworkManager has generated for an interface without a profile.
func (p Profile) IsVolatile() bool {
	return p.File == "" || strings.HasPrefix(p.File, "/run/") || strings.HasPrefix(p.File, "/var/run/")
}

// UUID returns the profile's UUID.
func (p Profile) UUID() string { return p.Settings.Text("connection", "uuid") }

// ID returns the profile's name.
func (p Profile) ID() string { return p.Settings.Text("connection", "id") }

// Storage selects where a profile is stored: the flags of AddConnection2 and
// Update2.
type Storage uint32

// Profiles in memory are lost at a reboot, and are not activated when they are
// added.
const (
	ToDisk   Storage = 0x1
	InMemory Storage = 0x2 | 0x20
)

const flagExternal = 0x8 // NM_SETTINGS_CONNECTION_FLAG_EXTERNAL

const settingsPath = managerPath + "/Settings"

// Profiles returns all profiles.
func (c *Client) Profiles(ctx context.Context) ([]Profile, error) {
	var paths []dbus.ObjectPath
	err := store("listing NetworkManager's profiles", c.call(ctx, settingsPath, "Settings", "ListConnections"), &paths)
	if err != nil {
		return nil, err
	}
	profiles := make([]Profile, 0, len(paths))
	for _, path := range paths {
		profile, err := c.profile(ctx, path)
		if isGone(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		profiles = append(profiles, profile)
	}
	return profiles, nil
}

// FindProfile returns the profile with a UUID, or false if there is none.
func (c *Client) FindProfile(ctx context.Context, uuid string) (Profile, bool, error) {
	profiles, err := c.Profiles(ctx)
	i := slices.IndexFunc(profiles, func(p Profile) bool { return uuid != "" && p.UUID() == uuid })
	if err != nil || i < 0 {
		return Profile{}, false, err
	}
	return profiles[i], true, nil
}

func (c *Client) profile(ctx context.Context, path dbus.ObjectPath) (Profile, error) {
	var settings map[string]map[string]dbus.Variant
	call := c.call(ctx, path, "Settings.Connection", "GetSettings")
	if err := store(fmt.Sprintf("reading NetworkManager's profile %s", path), call, &settings); err != nil {
		return Profile{}, err
	}
	properties, err := c.properties(ctx, path, "Settings.Connection")
	if err != nil {
		return Profile{}, err
	}
	return Profile{
		Ref:      Ref(path),
		Settings: Settings(settings).withoutLegacy(),
		File:     value[string](properties, "Filename"),
		External: value[uint32](properties, "Flags")&flagExternal != 0,
	}, nil
}

// AddProfile adds a profile without activating it.
func (c *Client) AddProfile(ctx context.Context, settings Settings, storage Storage) (Ref, error) {
	var path dbus.ObjectPath
	var result map[string]dbus.Variant
	call := c.call(ctx, settingsPath, "Settings", "AddConnection2", settings, uint32(storage), map[string]dbus.Variant{})
	err := store("adding NetworkManager profile "+settings.Text("connection", "id"), call, &path, &result)
	return Ref(path), err
}

// UpdateProfile replaces the settings of a profile. A device that uses it keeps
// its configuration until Reapply.
func (c *Client) UpdateProfile(ctx context.Context, profile Ref, settings Settings, storage Storage) error {
	return store("changing NetworkManager profile "+settings.Text("connection", "id"),
		c.call(ctx, dbus.ObjectPath(profile), "Settings.Connection", "Update2",
			settings, uint32(storage), map[string]dbus.Variant{}))
}

// DeleteProfile deactivates a profile and deletes it, from disk too. A missing
// profile is not an error.
func (c *Client) DeleteProfile(ctx context.Context, profile Ref) error {
	err := store(fmt.Sprintf("deleting NetworkManager profile %s", profile),
		c.call(ctx, dbus.ObjectPath(profile), "Settings.Connection", "Delete"))
	if isGone(err) {
		return nil
	}
	return err
}

// Reapply applies settings to a device without changing its profile, or, if
// settings is nil, the changed settings of its profile. This is possible as
// soon as the profile's activation has started.
func (c *Client) Reapply(ctx context.Context, device Device, settings Settings) error {
	if settings == nil {
		settings = Settings{}
	}
	return store("reapplying the profile of "+device.Name,
		c.call(ctx, device.Path, "Device", "Reapply", settings, uint64(0), uint32(0)))
}

// AppliedSettings returns the settings that a device uses. They differ from its profile
// if the profile was changed since, or if other settings were reapplied.
func (c *Client) AppliedSettings(ctx context.Context, device Device) (Settings, error) {
	var settings Settings
	var version uint64
	err := store("reading the applied settings of "+device.Name,
		c.call(ctx, device.Path, "Device", "GetAppliedConnection", uint32(0)), &settings, &version)
	return settings.withoutLegacy(), err
}

// LoadProfile makes NetworkManager reload a profile's file.
func (c *Client) LoadProfile(ctx context.Context, file string) error {
	var loaded bool
	var failures []string
	doing := "loading NetworkManager's profile " + file
	call := c.call(ctx, settingsPath, "Settings", "LoadConnections", []string{file})
	err := store(doing, call, &loaded, &failures)
	if err == nil && (!loaded || len(failures) > 0) {
		err = fmt.Errorf("%s: NetworkManager rejected the profile", doing)
	}
	return err
}
