package ignition

import (
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_6"
	"github.com/coreos/ignition/v2/config/v3_6/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/resolve"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// CheckOverride returns an error if raw is not a valid config of Ignition spec 3.0 to 3.6. The
// error has the location of each problem; name identifies the config in it. Resources that the
// config refers to are not fetched.
func CheckOverride(name string, raw []byte) error {
	if _, _, _, err := resolve.Parse(raw); err != nil {
		return report.Fail(report.Usage, overrideRemedy, "reading Ignition override %s: %w", name, err)
	}
	return nil
}

const overrideRemedy = "# correct it; what is in it is described by the Ignition spec"

// Override returns the payload with configs merged over it in order, by Ignition's rules:
// entries with the same path or name are replaced field by field, and new entries are added. The
// configs must be complete, as OpenOverride returns them. p is not changed. Raw, Digest and
// Version of the result are those of p.
func (p *Payload) Override(configs ...[]byte) (*Payload, error) {
	merged := *p
	if len(configs) == 0 {
		return &merged, nil
	}
	if err := merged.merge(configs); err != nil {
		return nil, report.Fail(report.Usage, "# correct the Ignition override: it does not fit this payload", "merging Ignition override over the payload: %w", err)
	}
	return &merged, nil
}

func (p *Payload) merge(configs [][]byte) error {
	base := p.Config
	for _, raw := range configs {
		document, err := resolve.Offline(raw, "override", "")
		if err != nil {
			return err
		}
		p.Config = v3_6.Merge(p.Config, document.Config)
		p.Warnings = append(p.Warnings[:len(p.Warnings):len(p.Warnings)], document.Warnings...)
	}
	// Two valid configs can be invalid when merged, such as a link in one and a file below it in
	// the other. Ignition validates the result again, too.
	if err := resolve.Validate(p.Config); err != nil {
		return fmt.Errorf("the two do not fit together: %w", err)
	}
	p.overridden = changedTargets(base, p.Config)
	return p.decodeContents()
}

// changedTargets returns the targets of the changes that a merge added or changed.
func changedTargets(base, merged types.Config) map[string]bool {
	targets := map[string]bool{}
	before := partsByTarget(base)
	for target, part := range partsByTarget(merged) {
		if !reflect.DeepEqual(before[target], part) {
			targets[target] = true
		}
	}
	return targets
}

// markOverrides marks the changes of the plan that come from an override.
func (s *planner) markOverrides() {
	if len(s.payload.overridden) == 0 {
		return
	}
	for _, changes := range [][]ledger.Change{s.plan.Files, s.plan.Units, s.plan.Kubelet} {
		for i, c := range changes {
			byRule := strings.HasPrefix(c.Reason, "adapt: ")
			if !byRule && (s.payload.overridden[c.Target] || s.payload.overridden[c.Key()]) {
				changes[i].Reason = reasonOverride
			}
		}
	}
	reason := "an Ignition override has brought or changed: " + strings.Join(slices.Sorted(maps.Keys(s.payload.overridden)), ", ")
	if !s.in.Hosted {
		reason += "; the machine-config-daemon of this cluster will find the difference and degrade the pool"
	}
	s.addReport("payload", reasonOverride, reason)
}

// reasonOverride is the reason of changes that come from an override.
const reasonOverride = "override"

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
		parts[path.Join(unitDir, u.Name)] = [2]any{u.Contents, u.Mask}
		if u.Enabled != nil {
			parts[u.Name] = *u.Enabled
		}
		for _, dropin := range u.Dropins {
			parts[dropinPath(u.Name, dropin.Name)] = dropin
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
