// SPDX-License-Identifier: Apache-2.0

package adapt

import (
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_6/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// markOverrides marks the changes of the plan that come from an override.
func (p *planner) markOverrides() {
	overridden := overriddenTargets(p.payload)
	if len(overridden) == 0 {
		return
	}
	for _, changes := range [][]ledger.Change{p.plan.Files, p.plan.Units, p.plan.Kubelet} {
		for i, c := range changes {
			byRule := strings.HasPrefix(c.Reason, "adapt: ")
			if !byRule && (overridden[c.Target] || overridden[c.Key()]) {
				changes[i].Reason = reasonOverride
			}
		}
	}
	reason := "added or changed by an Ignition override: " + strings.Join(slices.Sorted(maps.Keys(overridden)), ", ")
	if !p.in.Hosted {
		reason += "; the machine-config-daemon of this cluster detects the difference and degrades the pool"
	}
	p.plan.addReport("payload", reasonOverride, reason)
}

// reasonOverride is the reason of changes that come from an override.
const reasonOverride = "override"

// IsAsServed reports whether the payload contains a file, no pattern of the administrator excludes the file, and no
// override adds or changes it.
func IsAsServed(payload *ignition.Payload, patterns []string, file string) bool {
	_, _, exists := payload.File(file)
	return exists && !isExcluded(patterns, file) && !overriddenTargets(payload)[file]
}

// overriddenTargets returns the targets of the changes that an override added or changed.
func overriddenTargets(payload *ignition.Payload) map[string]bool {
	targets := map[string]bool{}
	if payload.Base == nil {
		return targets
	}
	before := partsByTarget(*payload.Base)
	for target, part := range partsByTarget(payload.Config) {
		if !reflect.DeepEqual(before[target], part) {
			targets[target] = true
		}
	}
	return targets
}

// partsByTarget returns the parts of a config by the targets of their changes. Users and groups are
// prefixed by their kind.
func partsByTarget(config types.Config) map[string]any {
	parts := map[string]any{}
	for _, file := range config.Storage.Files {
		parts[file.Path] = file
	}
	for _, dir := range config.Storage.Directories {
		parts[dir.Path] = dir
	}
	for _, link := range config.Storage.Links {
		parts[link.Path] = link
	}
	for _, u := range config.Systemd.Units {
		parts[path.Join(unitDirectory, u.Name)] = [2]any{u.Contents, u.Mask}
		if u.Enabled != nil {
			parts[u.Name] = *u.Enabled
		}
		for _, dropin := range u.Dropins {
			parts[dropInPath(u.Name, dropin.Name)] = dropin
		}
	}
	for _, user := range config.Passwd.Users {
		parts["user:"+user.Name] = user
	}
	for _, group := range config.Passwd.Groups {
		parts["group:"+group.Name] = group
	}
	return parts
}
