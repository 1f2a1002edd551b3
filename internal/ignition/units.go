package ignition

import (
	"path"
	"slices"
	"strings"

	"github.com/coreos/go-systemd/v22/unit"
	"github.com/coreos/ignition/v2/config/v3_6/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

const (
	unitDir    = "/etc/systemd/system"
	presetPath = "/etc/systemd/system-preset/20-ignition.preset" // Ignition's own
)

// unitFiles are the files of one unit, in Ignition's order: its drop-ins, its
// contents, its mask. A mask takes the place of contents.
func unitFiles(u types.Unit) []ledger.Change {
	var changes []ledger.Change
	for _, dropin := range u.Dropins {
		if dropin.Contents != nil {
			changes = append(changes, unitFile(dropinPath(u.Name, dropin.Name), *dropin.Contents))
		}
	}
	if masked(u) {
		return append(changes, ledger.Change{
			Kind: ledger.Link, Target: path.Join(unitDir, u.Name), Why: fromPayload, Want: ledger.State{Present: true, Link: "/dev/null"}, Overwrite: true,
		})
	}
	if text(u.Contents) != "" {
		changes = append(changes, unitFile(path.Join(unitDir, u.Name), *u.Contents))
	}
	return changes
}

// unitFile is a file that Ignition renames over whatever is there.
func unitFile(target, contents string) ledger.Change {
	return ledger.Change{Kind: ledger.File, Target: target, Why: fromPayload, Want: ledger.FileState([]byte(contents), 0o644), Overwrite: true}
}

func dropinPath(unit, dropin string) string { return path.Join(unitDir, unit+".d", dropin) }

func masked(u types.Unit) bool  { return u.Mask != nil && *u.Mask }
func enabled(u types.Unit) bool { return u.Enabled != nil && *u.Enabled }

// enablement is the wish that a unit is enabled or disabled.
func enablement(u types.Unit) ledger.Change {
	state := "disabled"
	if enabled(u) {
		state = "enabled"
	}
	return ledger.Change{Kind: ledger.Unit, Target: u.Name, Why: fromPayload, Want: ledger.State{Present: true, Enabled: state}}
}

// preset is the file in which Ignition says which units are enabled, so that a
// later `systemctl preset` agrees with the payload. Instances of one template
// have to share a line, for the first line that matches decides.
func preset(changes []ledger.Change) []ledger.Change {
	instances := map[string][]string{}
	var lines []string
	for _, c := range changes {
		verb := strings.TrimSuffix(c.Want.Enabled, "d") // enable, disable
		template, instance := splitInstance(c.Target)
		line := verb + " " + template
		if _, seen := instances[line]; !seen {
			lines = append(lines, line)
		}
		instances[line] = append(instances[line], instance...)
	}
	if len(lines) == 0 {
		return nil
	}
	slices.Sort(lines)
	var content strings.Builder
	for _, line := range lines {
		content.WriteString(strings.Join(append([]string{line}, instances[line]...), " ") + "\n")
	}
	return []ledger.Change{unitFile(presetPath, content.String())}
}

// splitInstance gives the template of name@instance.service, and the instance.
func splitInstance(name string) (template string, instance []string) {
	stem, rest, found := strings.Cut(name, "@")
	suffix := path.Ext(name)
	if one := strings.TrimSuffix(rest, suffix); found && one != "" {
		return stem + "@" + suffix, []string{one}
	}
	return name, nil
}

// section gives the values of a key in a unit's contents and drop-ins. They
// were validated when the payload was read, so they parse.
func section(u types.Unit, name string, keys ...string) []string {
	var values []string
	parts := []string{text(u.Contents)}
	for _, dropin := range u.Dropins {
		parts = append(parts, text(dropin.Contents))
	}
	for _, part := range parts {
		options, err := unit.DeserializeOptions(strings.NewReader(part))
		if err != nil {
			continue
		}
		for _, option := range options {
			if option.Section == name && slices.Contains(keys, option.Name) {
				values = append(values, option.Value)
			}
		}
	}
	return values
}

// installable tells whether enabling the unit would do anything.
func installable(u types.Unit) bool {
	return len(section(u, "Install", "WantedBy", "RequiredBy", "UpheldBy", "Also", "Alias")) > 0
}
