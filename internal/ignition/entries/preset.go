package entries

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_6/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
)

// Enablement is the wish that a unit is enabled or disabled.
type Enablement struct {
	Unit    string
	Enabled bool
}

// line is one of the preset file. The units are one, or a template and those of
// its instances that the line is about.
type line struct {
	units   string
	enabled bool
}

func (l line) String() string {
	if l.enabled {
		return "enable " + l.units
	}
	return "disable " + l.units
}

// PresetContent is the preset file that says which units are enabled and which
// are disabled, as Ignition words it; nil for no units.
func PresetContent(wishes []Enablement) []byte {
	var content bytes.Buffer
	for _, l := range lines(wishes) {
		content.WriteString(l.String() + "\n")
	}
	return content.Bytes()
}

// lines are in Ignition's order: by unit, and disabled before enabled. The
// instances of a template share a line, for systemd takes the first line that
// names a template. A template itself counts as its instance without a name.
func lines(wishes []Enablement) []line {
	state := map[bool]string{true: "-enabled", false: "-disabled"}
	instances := map[string][]string{}
	var keys []string
	byKey := map[string]line{}
	for _, wish := range wishes {
		l := line{units: wish.Unit, enabled: wish.Enabled}
		at, dot := strings.Index(wish.Unit, "@"), strings.LastIndex(wish.Unit, ".")
		instantiated := at >= 0 && dot > at
		if instantiated {
			l.units = wish.Unit[:at+1] + wish.Unit[dot:]
		}
		key := l.units + state[l.enabled]
		if _, seen := byKey[key]; !seen {
			keys, byKey[key] = append(keys, key), l
		}
		if instantiated {
			instances[key] = append(instances[key], wish.Unit[at+1:dot])
		}
	}
	slices.SortFunc(keys, cmp.Compare)
	list := make([]line, 0, len(keys))
	for _, key := range keys {
		l := byKey[key]
		if names := instances[key]; names != nil {
			l.units += " " + strings.Join(names, " ")
		}
		list = append(list, l)
	}
	return list
}

// preset makes the preset file. By Ignition's rules lines are appended, and a
// unit is listed as disabled only where the tree has it enabled; it is disabled
// there at once. With NodePool rules the file is replaced, as the first line
// that matches a unit decides, and the links are systemd's to make.
func (d *decider) preset(units []types.Unit) error {
	var wishes []Enablement
	for _, u := range units {
		if u.Enabled != nil {
			wishes = append(wishes, Enablement{u.Name, *u.Enabled})
		}
	}
	if len(wishes) == 0 {
		return nil
	}
	if !d.in.Strict {
		return d.unitFile(PresetPath, string(PresetContent(wishes)))
	}
	for _, l := range lines(wishes) {
		if !l.enabled {
			enabled, err := d.scene.disable(systemctlName(l.units))
			if err != nil {
				return err
			}
			if !enabled {
				continue
			}
		}
		if err := d.presetLine(l.String()); err != nil {
			return err
		}
	}
	return nil
}

// presetLine appends to the preset file what it has not already. The file can
// be a link to another one.
func (d *decider) presetLine(text string) error {
	real, err := d.scene.follow(PresetPath)
	if err != nil {
		return err
	}
	if d.in.forbidden(real) {
		return inTheWay("%s is not possible, as symbolic links lead to %s", PresetPath, real)
	}
	there, err := d.scene.lstat(real)
	if err != nil {
		return err
	}
	appended := []byte(text + "\n")
	if there.kind == host.Absent {
		return d.unitFile(real, string(appended))
	}
	if there.kind != host.Regular {
		return inTheWay("%s shall be a file, but a %s is there", real, there)
	}
	content, err := d.scene.read(there)
	if err != nil || hasLines(content, appended) {
		return err
	}
	d.scene.touch(real, why(PresetPath, real)).overwrite = true
	n := *there
	n.write(append(wholeLines(content), appended...))
	return d.scene.put(real, &n)
}
