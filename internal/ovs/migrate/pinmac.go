// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"bytes"
	"context"
	"fmt"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
)

// pinMAC makes a bond keep its MAC during the activation of an original profile
// that sets none. The activation detaches the bond's ports, and a bond without
// ports gets another MAC, so the DHCP server would not recognize the host. The
// profile contains the MAC in memory while it is activated. pinMAC returns the
// settings that the profile has then; unpin restores the profile byte by byte.
func (d *Driver) pinMAC(
	ctx context.Context, original networkmanager.Ref, backup ovs.Backup, nic networkmanager.Device,
) (pinned networkmanager.Settings, unpin func(context.Context) error, err error) {
	nothing := func(context.Context) error { return nil }
	const section = "802-3-ethernet"
	_, cloned := backup.Settings[section]["cloned-mac-address"]
	assigned := backup.Settings.Text(section, "assigned-mac-address") != ""
	if nic.Type != networkmanager.Bond || nic.MAC == "" || cloned || assigned {
		return backup.Settings, nothing, nil
	}
	links, err := hostnet.Links()
	if err != nil {
		return nil, nil, err
	}
	facts := ovs.Facts{Links: links}
	if link, _ := facts.Link(nic.Name); !ovs.HasOwnMAC(facts, link) {
		return backup.Settings, nothing, nil
	}
	profile, found, err := d.NM.FindProfile(ctx, backup.UUID)
	if err == nil && !found {
		err = fmt.Errorf("the NetworkManager profile %s does not exist", backup.UUID)
	}
	if err != nil {
		return nil, nil, err
	}
	pinned = backup.Settings.Clone()
	pinned.Set(section, "assigned-mac-address", nic.MAC)
	if err := d.NM.UpdateProfile(ctx, original, pinned, networkmanager.InMemory); err != nil {
		return nil, nil, err
	}
	return pinned, func(ctx context.Context) error {
		if backup.Volatile {
			return d.NM.UpdateProfile(ctx, original, backup.Settings, networkmanager.InMemory)
		}
		return d.saveUnchanged(ctx, original, backup.Settings, profile.File)
	}, nil
}

// saveUnchanged saves the settings of a profile, but keeps the content of its file.
func (d *Driver) saveUnchanged(
	ctx context.Context, profile networkmanager.Ref, settings networkmanager.Settings, file string,
) error {
	content, info, err := d.Tree.ReadFile(file)
	if err != nil {
		return err
	}
	if err := d.NM.UpdateProfile(ctx, profile, settings, networkmanager.ToDisk); err != nil {
		return err
	}
	now, _, err := d.Tree.ReadFile(file)
	if err != nil || bytes.Equal(content, now) {
		return err
	}
	if err := d.Tree.ReplaceFile(file, content, info.Attr()); err != nil {
		return err
	}
	return d.NM.LoadProfile(ctx, file)
}
