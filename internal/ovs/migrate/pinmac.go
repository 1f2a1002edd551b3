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
// profile contains the MAC in memory while it is activated; unpin restores the
// profile byte by byte.
func (d *Driver) pinMAC(
	ctx context.Context, original networkmanager.Ref, o *ovs.Backup, nic networkmanager.Device,
) (unpin func(context.Context) error, err error) {
	nothing := func(context.Context) error { return nil }
	const section = "802-3-ethernet"
	_, cloned := o.Settings[section]["cloned-mac-address"]
	assigned := o.Settings.Text(section, "assigned-mac-address") != ""
	if nic.Type != networkmanager.Bond || nic.MAC == "" || cloned || assigned {
		return nothing, nil
	}
	links, err := hostnet.Links()
	if err != nil {
		return nil, err
	}
	facts := ovs.Facts{Links: links}
	if link, _ := facts.Link(nic.Name); !ovs.HasOwnMAC(facts, link) {
		return nothing, nil
	}
	file, err := d.profileFile(ctx, o.UUID)
	if err != nil {
		return nil, err
	}
	before := o.Settings
	o.Settings = before.Clone()
	o.Settings.Set(section, "assigned-mac-address", nic.MAC)
	if err := d.NM.UpdateProfile(ctx, original, o.Settings, networkmanager.InMemory); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		if o.Volatile {
			return d.NM.UpdateProfile(ctx, original, before, networkmanager.InMemory)
		}
		content, info, err := d.Tree.ReadFile(file)
		if err != nil {
			return err
		}
		if err := d.NM.UpdateProfile(ctx, original, before, networkmanager.ToDisk); err != nil {
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
	}, nil
}

func (d *Driver) profileFile(ctx context.Context, uuid string) (string, error) {
	profiles, err := d.NM.Profiles(ctx)
	if err != nil {
		return "", err
	}
	profile, found := ovs.Facts{Profiles: profiles}.Profile(uuid)
	if !found {
		return "", fmt.Errorf("the NetworkManager profile %s does not exist", uuid)
	}
	return profile.File, nil
}
