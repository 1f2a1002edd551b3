// SPDX-License-Identifier: Apache-2.0

package entries

import (
	"cmp"
	"slices"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_6/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// presetLine is one line of the preset file. Its units are one unit, or a template and the names
// of its instances.
type presetLine struct {
	units   string
	enabled bool
}

func (l presetLine) String() string {
	if l.enabled {
		return "enable " + l.units
	}
	return "disable " + l.units
}

// presetLines returns the lines for the units of a config in Ignition's order: by unit, disabled
// before enabled. The instances of a template share a line, because systemd applies only the
// first line that names a template. Ignition treats a template itself as its instance without a
// name.
func presetLines(units []types.Unit) []presetLine {
	suffix := map[bool]string{true: "-enabled", false: "-disabled"}
	byKey := map[string]*presetLine{}
	var keys []string
	for _, u := range units {
		if u.Enabled == nil {
			continue
		}
		name, instance := u.Name, ""
		if at, dot := strings.Index(name, "@"), strings.LastIndex(name, "."); at >= 0 && dot > at {
			name, instance = name[:at+1]+name[dot:], " "+name[at+1:dot]
		}
		key := name + suffix[*u.Enabled]
		if byKey[key] == nil {
			byKey[key] = &presetLine{units: name, enabled: *u.Enabled}
			keys = append(keys, key)
		}
		byKey[key].units += instance
	}
	slices.Sort(keys)
	lines := make([]presetLine, 0, len(keys))
	for _, key := range keys {
		lines = append(lines, *byKey[key])
	}
	return lines
}

// presetFile replaces the preset file of a running host, because the first line that matches a
// unit applies. systemd itself creates the links.
func (d *decider) presetFile() error {
	var content strings.Builder
	for _, line := range presetLines(d.in.Units) {
		if line.enabled || !d.in.Provisioned {
			content.WriteString(line.String() + "\n")
		}
	}
	if content.Len() == 0 {
		return nil
	}
	if present, _, err := d.in.Tree.ReadFile(PresetPath); err == nil && d.in.Provisioned &&
		containsLines(string(present), content.String()) {
		return d.unitFile(PresetPath, string(present))
	}
	return d.unitFile(PresetPath, content.String())
}

// containsLines reports whether a text contains all lines of another one.
func containsLines(text, lines string) bool {
	all := slices.Collect(strings.Lines(text))
	for line := range strings.Lines(lines) {
		if !slices.Contains(all, line) {
			return false
		}
	}
	return true
}

// DisablesUnits reports whether Preset calls its argument.
func (d *Decision) DisablesUnits() bool {
	return slices.ContainsFunc(presetLines(d.decider.in.Units), func(l presetLine) bool { return !l.enabled })
}

// Preset returns the changes that make the preset file of an image. As in Ignition, lines are
// appended, and a unit is listed as disabled only if disable, which must disable the unit,
// returns that the unit was enabled until then. The changes of the decision must have been made:
// the unit files decide which units are enabled.
func (d *Decision) Preset(disable func(unit string) (wasEnabled bool, err error)) ([]ledger.Change, error) {
	s := d.decider.overlay
	s.touched, s.touchedAt = nil, map[string]*touchedPath{}
	if t := d.decider.preset; t != nil {
		s.touched, s.touchedAt[t.path] = []*touchedPath{t}, t
	}
	for _, line := range presetLines(d.decider.in.Units) {
		if !line.enabled {
			wasEnabled, err := disable(line.units)
			if err != nil {
				return nil, err
			}
			if !wasEnabled {
				continue
			}
		}
		err := d.decider.problems.collect(d.decider.appendPreset(line.String()))
		if err := cmp.Or(err, s.err); err != nil {
			return nil, err
		}
	}
	return d.decider.complete()
}

// UnitLinks returns the symbolic links below the unit directory of the tree and the directories
// that contain them. `systemctl disable` removes both. Directories follow their contents,
// so that an undo restores them first.
func (d *Decision) UnitLinks() ([]ledger.Change, error) {
	dir, err := d.decider.overlay.follow(UnitDir)
	if err != nil {
		return nil, err
	}
	var links []ledger.Change
	err = d.decider.in.Tree.Walk(dir, func(p string, info hostfs.Info) error {
		if info.Type == hostfs.Symlink || info.Type == hostfs.Directory {
			links = append(links, ledger.Change{Kind: changeKind(info.Type), Target: p, Reason: "disabled units"})
		}
		return nil
	})
	slices.Reverse(links)
	return links, err
}

// appendPreset appends a line to the preset file, or to the target of its symbolic link, unless
// the file contains the line.
func (d *decider) appendPreset(line string) error {
	real, err := d.overlay.follow(PresetPath)
	if err != nil {
		return err
	}
	if d.in.isForbidden(real) {
		return newObstacle("%s is not allowed: symbolic links lead to %s", PresetPath, real)
	}
	there := d.overlay.lstat(real)
	appended := []byte(line + "\n")
	if there.kind == hostfs.Absent {
		return d.unitFile(real, string(appended))
	}
	if there.kind != hostfs.Regular {
		return newObstacle("%s must be a file, but a %s exists", real, there)
	}
	content := d.overlay.read(there)
	if hasLines(content, appended) {
		return nil
	}
	d.overlay.touch(real, changeReason(PresetPath, real)).overwrite = true
	n := *there
	n.write(append(withFinalNewline(content), appended...))
	d.overlay.setNode(real, &n)
	return nil
}

// deferPreset removes the preset file of an image from the changes if Preset creates it.
func (d *decider) deferPreset() error {
	if len(presetLines(d.in.Units)) == 0 {
		return nil
	}
	real, err := d.overlay.follow(PresetPath)
	if err != nil {
		return err
	}
	d.preset = d.overlay.touchedAt[real]
	d.overlay.touched = slices.DeleteFunc(d.overlay.touched, func(t *touchedPath) bool { return t == d.preset })
	return nil
}
