// SPDX-License-Identifier: Apache-2.0

package adapt

import (
	"path"
	"slices"
	"strings"

	"github.com/coreos/go-systemd/v22/unit"
	"github.com/coreos/ignition/v2/config/util"
	"github.com/coreos/ignition/v2/config/v3_6/types"
	"k8s.io/utils/ptr"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/entries"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

const unitDirectory = entries.UnitDir

// reasonPayload is the reason of changes that no rule affects.
const reasonPayload = "payload"

// unitFileChange returns the change that writes a file and replaces an existing one.
func unitFileChange(target, contents string) ledger.Change {
	change := ledger.FileChange(target, reasonPayload, contents)
	change.Overwrite = true
	return change
}

func dropInPath(unit, dropin string) string { return path.Join(unitDirectory, unit+".d", dropin) }

func isMasked(u types.Unit) bool    { return util.IsTrue(u.Mask) }
func isEnabled(u types.Unit) bool   { return util.IsTrue(u.Enabled) }
func hasContents(u types.Unit) bool { return util.NotEmpty(u.Contents) }

// enablementChange returns the change that enables or disables a unit.
func enablementChange(u types.Unit) ledger.Change {
	state := "disabled"
	if isEnabled(u) {
		state = "enabled"
	}
	desired := ledger.State{Present: true, Enabled: state}
	return ledger.Change{Kind: ledger.Unit, Target: u.Name, Reason: reasonPayload, Desired: desired}
}

// templateOf returns the template of name@instance.service, "" for another name.
func templateOf(name string) string {
	stem, rest, found := strings.Cut(name, "@")
	suffix := path.Ext(name)
	if !found || rest == suffix {
		return ""
	}
	return stem + "@" + suffix
}

// sectionValues returns the values of keys in a section of a unit's contents and drop-ins. The
// contents were validated when the payload was parsed, so parse errors cannot occur.
func sectionValues(u types.Unit, name string, keys ...string) []string {
	var values []string
	parts := []string{ptr.Deref(u.Contents, "")}
	for _, dropin := range u.Dropins {
		parts = append(parts, ptr.Deref(dropin.Contents, ""))
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
