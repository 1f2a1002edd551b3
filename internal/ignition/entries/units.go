// SPDX-License-Identifier: Apache-2.0

package entries

import (
	"path"

	"github.com/coreos/ignition/v2/config/util"
	"github.com/coreos/ignition/v2/config/v3_6/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
)

// Paths of systemd.
const (
	UnitDir    = "/etc/systemd/system"
	PresetPath = "/etc/systemd/system-preset/20-ignition.preset" // the preset file of Ignition

	maskTarget = "/dev/null" // target of the link that masks a unit
)

// units creates the units one by one, then the preset file of a running host. Each path is
// resolved just before its unit is created, so that symbolic links of the config apply.
func (d *decider) units() error {
	for _, u := range d.in.Units {
		if err := d.problems.collect(d.unit(u)); err != nil {
			return err
		}
	}
	if d.in.Strict {
		return d.problems.collect(d.deferPreset())
	}
	return d.problems.collect(d.presetFile())
}

// unit creates the drop-ins of a unit, then its contents, then its mask, which replaces the
// contents.
func (d *decider) unit(u types.Unit) error {
	for _, dropin := range u.Dropins {
		if dropin.Contents == nil {
			continue
		}
		if err := d.unitFile(path.Join(UnitDir, u.Name+".d", dropin.Name), *dropin.Contents); err != nil {
			return err
		}
	}
	target := path.Join(UnitDir, u.Name)
	if util.NotEmpty(u.Contents) {
		if err := d.unitFile(target, *u.Contents); err != nil {
			return err
		}
	}
	switch {
	case u.Mask == nil:
		return nil
	case *u.Mask:
		return d.mask(target)
	}
	return d.unmask(target)
}

// unitPath resolves the path of a unit's file.
func (d *decider) unitPath(p string) (string, *touchedPath, error) {
	real, err := d.overlay.resolve(p)
	if err != nil {
		return "", nil, err
	}
	if d.in.isForbidden(real) {
		return "", nil, newObstacle("%s is not allowed: symbolic links lead to %s", p, real)
	}
	t := d.overlay.touch(real, changeReason(p, real))
	t.overwrite, t.implied, t.hardTarget = true, false, ""
	return real, t, nil
}

// unitFile creates a file and replaces any existing path except a directory or special file.
func (d *decider) unitFile(p, content string) error {
	real, _, err := d.unitPath(p)
	if err != nil {
		return err
	}
	if there := d.overlay.lstat(real); there.kind == hostfs.Directory || there.kind == hostfs.Other {
		return newObstacle("%s must be a file, but a %s exists", real, there)
	}
	if err := d.overlay.parents(real, p); err != nil {
		return err
	}
	n := d.overlay.newNode(real, hostfs.Regular, fileMode)
	n.content = []byte(content)
	d.overlay.setNode(real, n)
	return nil
}

func (d *decider) mask(p string) error {
	real, t, err := d.unitPath(p)
	if err != nil {
		return err
	}
	if err := d.overlay.parents(real, p); err != nil {
		return err
	}
	if err := d.removeExisting(real, t.why); err != nil {
		return err
	}
	n := d.overlay.newNode(real, hostfs.Symlink, 0)
	n.link = maskTarget
	d.overlay.setNode(real, n)
	return nil
}

// unmask removes a symbolic link to exactly /dev/null, and nothing else.
func (d *decider) unmask(p string) error {
	real, err := d.overlay.resolve(p)
	if err != nil {
		return err
	}
	if there := d.overlay.lstat(real); there.kind != hostfs.Symlink || there.link != maskTarget {
		return nil
	}
	return d.removeExisting(real, changeReason(p, real))
}
