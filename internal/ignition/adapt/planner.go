// SPDX-License-Identifier: Apache-2.0

package adapt

import (
	"slices"

	"github.com/coreos/ignition/v2/config/v3_6/types"
	"k8s.io/utils/ptr"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// planner holds the state from which the rules make a plan of a payload.
type planner struct {
	in        Input
	payload   *ignition.Payload
	table     table
	rules     []rule // those of the table, after those that exclude entries
	kubelet   ignition.KubeletConfig
	plan      *Plan
	grouped   map[string][]string // the subjects of a rule's only note, by name of the rule
	ruleNames map[string]string   // name of the rule that changed an entry, by path
	units     unitSet
}

func newPlanner(payload *ignition.Payload, in Input) (*planner, error) {
	rulesTable, err := readTable()
	if err != nil {
		return nil, err
	}
	p := &planner{
		in:        in,
		payload:   payload,
		table:     rulesTable,
		rules:     append(excludeRules(in.Exclude, in.Hosted), rulesTable.Rules...),
		plan:      &Plan{NodePool: in.NodePool},
		grouped:   map[string][]string{},
		ruleNames: map[string]string{},
		units:     newUnitSet(payload.Config.Systemd.Units, in.HasUnit, rulesTable.UnitPackages),
	}
	if p.kubelet, err = payload.KubeletConfig(); err != nil {
		return nil, report.Fail(report.Usage, "# check the KubeletConfigs of the pool", "adapting the payload: %w", err)
	}
	for _, u := range payload.Config.Systemd.Units {
		r := p.findRule(kindUnit, u.Name, subject{unit: u}, true)
		if (r == nil || r.Effect != effectSkip) && hasContents(u) && !isMasked(u) {
			p.units.provided[u.Name] = u
		}
	}
	p.units.require(p.enabledUnits())
	return p, nil
}

// enabledUnits returns the units that the payload enables and no rule skips or disables.
func (p *planner) enabledUnits() []types.Unit {
	var enabled []types.Unit
	for _, u := range p.payload.Config.Systemd.Units {
		r := p.findRule(kindUnit, u.Name, subject{unit: u}, true)
		if isEnabled(u) && !isMasked(u) && (r == nil || (r.Effect != effectSkip && !r.Effect.keepsDisabled())) {
			enabled = append(enabled, u)
		}
	}
	return enabled
}

// subject is the entry that a rule is evaluated for.
type subject struct {
	unit    types.Unit
	path    string // of a file
	content string // of a file or drop-in
	mode    uint32 // of a file
}

// unitHas reports whether a section of the unit sets one of the keys.
func (s subject) unitHas(section string, keys ...string) bool {
	return len(sectionValues(s.unit, section, keys...)) > 0
}

// findRule returns the first rule of the table that applies to an entry, nil for none. If early is
// true, rules that depend on the planned units are ignored.
func (p *planner) findRule(kind entryKind, name string, about subject, early bool) *rule {
	for i := range p.rules {
		r := &p.rules[i]
		matches := func(pattern string) bool { return config.MatchPath(pattern, name) }
		isTooEarly := early && slices.Contains(r.When, notInstalled)
		if r.Kind == kind && !isTooEarly && slices.ContainsFunc(r.Match, matches) && r.isMet(p, about) {
			return r
		}
	}
	return nil
}

// addRuleNote adds the note of a rule that was applied, unless the plan has an equal note already.
func (p *planner) addRuleNote(subject string, r *rule) {
	remedy := ruleDetails()[r.Name].remedy
	note := Note{Subject: subject, Action: r.Effect.action(), Reason: r.Reason, Rule: r.Name, Remedy: remedy}
	if p.loadsConfig(r) {
		note.Reason = r.Loader.Reason
	}
	if r.Group {
		p.grouped[r.Name] = lists.AppendMissing(p.grouped[r.Name], subject)
		note.Subject = report.AbbreviateList(p.grouped[r.Name])
		isSame := func(other Note) bool { return other.Rule == r.Name }
		if at := slices.IndexFunc(p.plan.Notes, isSame); at >= 0 {
			p.plan.Notes[at] = note
			return
		}
	}
	if !slices.Contains(p.plan.Notes, note) {
		p.plan.Notes = append(p.plan.Notes, note)
	}
}

// applyRule applies the rule for an entry, adds its note, and reports whether the entry stays.
func (p *planner) applyRule(kind entryKind, name, called string, about subject) (r *rule, stays bool) {
	if r = p.findRule(kind, name, about, false); r == nil {
		return nil, true
	}
	p.addRuleNote(called, r)
	return r, r.Effect != effectSkip
}

// planAccounts applies the rules to groups and users. For an account of the host, only the SSH keys
// are planned.
func (p *planner) planAccounts() {
	passwd := p.payload.Config.Passwd
	p.plan.Accounts = types.Passwd{Groups: passwd.Groups}
	for _, user := range passwd.Users {
		r, stays := p.applyRule(kindUser, user.Name, "user "+user.Name, subject{})
		if !stays {
			continue
		}
		if r != nil && r.Effect == effectKeysOnly {
			user = types.PasswdUser{Name: user.Name, SSHAuthorizedKeys: user.SSHAuthorizedKeys}
		}
		p.plan.Accounts.Users = append(p.plan.Accounts.Users, user)
	}
}

// adaptStorage applies the rules to directories, files and links, and returns the remaining ones.
func (p *planner) adaptStorage() types.Storage {
	adapted := p.payload.Config.Storage
	isSkipped := func(node types.Node) bool {
		_, stays := p.applyRule(kindFile, node.Path, node.Path, subject{path: node.Path})
		return !stays
	}
	adapted.Directories = slices.DeleteFunc(slices.Clone(adapted.Directories), func(dir types.Directory) bool {
		return isSkipped(dir.Node)
	})
	adapted.Files = nil
	for _, file := range p.payload.Config.Storage.Files {
		content, mode, _ := p.payload.File(file.Path)
		about := subject{path: file.Path, content: string(content), mode: mode}
		r, stays := p.applyRule(kindFile, file.Path, file.Path, about)
		if !stays {
			continue
		}
		if r != nil && r.Effect == effectOwnerOnly {
			private := int(mode &^ 0o077)
			file.Mode = &private
			p.ruleNames[file.Path] = r.Name
		}
		adapted.Files = append(adapted.Files, file)
	}
	adapted.Links = slices.DeleteFunc(slices.Clone(adapted.Links), func(link types.Link) bool {
		return isSkipped(link.Node)
	})
	return adapted
}

// adaptUnits applies the rules to units. It returns the remaining units, in which Enabled is set only
// for units of the preset file, and further changes of files.
func (p *planner) adaptUnits() (units []types.Unit, beside []ledger.Change) {
	for _, u := range p.payload.Config.Systemd.Units {
		r, stays := p.applyRule(kindUnit, u.Name, u.Name, subject{unit: u})
		if !stays {
			continue
		}
		whole := u
		u, removed := p.adaptDropins(u)
		beside = append(beside, removed...)
		if r != nil && r.Effect == effectAdd {
			beside = append(beside, setReason(r, ruleDetails()[r.Name].add(p, whole))...)
		}
		isInPreset := !p.isAdapted() // with all units, as Ignition writes it
		switch {
		case r != nil && r.Effect.keepsDisabled():
		case u.Enabled != nil && u.Name == kubeletUnit:
			p.plan.Kubelet = append(p.plan.Kubelet, enablementChange(u))
		case u.Enabled != nil:
			p.plan.Units = append(p.plan.Units, enablementChange(u))
			isInPreset = true
		}
		if !isInPreset {
			u.Enabled = nil
		}
		units = append(units, u)
	}
	return units, beside
}

// adaptDropins applies the rules to the drop-ins of a unit. It returns the unit with the remaining
// drop-ins, and the removal of drop-ins that must not exist.
func (p *planner) adaptDropins(u types.Unit) (types.Unit, []ledger.Change) {
	var kept []types.Dropin
	var gone []ledger.Change
	for _, dropin := range u.Dropins {
		target := dropInPath(u.Name, dropin.Name)
		about := subject{unit: u, content: ptr.Deref(dropin.Contents, "")}
		r, stays := p.applyRule(kindDropin, u.Name+"/"+dropin.Name, target, about)
		switch {
		case r != nil && r.Effect == effectRemove:
			gone = append(gone, setReason(r, []ledger.Change{{Kind: ledger.File, Target: target}})...)
		case stays:
			kept = append(kept, dropin)
		}
	}
	u.Dropins = kept
	return u, gone
}

// thisHost is the subject of notes about the host as a whole.
const thisHost = "this host"

// applyHostRules applies the rules for the host as a whole.
func (p *planner) applyHostRules() {
	for i := range p.rules {
		r := &p.rules[i]
		switch {
		case r.Kind != kindHost || !r.isMet(p, subject{}):
		case r.Effect == effectAdd:
			changes := setReason(r, ruleDetails()[r.Name].add(p, types.Unit{}))
			for _, change := range changes {
				p.addRuleNote(change.Target, r)
			}
			p.plan.Files = append(p.plan.Files, changes...)
		default:
			p.addRuleNote(thisHost, r)
		}
	}
}

// setReason sets the rule as the reason of changes.
func setReason(r *rule, changes []ledger.Change) []ledger.Change {
	for i := range changes {
		changes[i].Reason = ruleReason(r.Name)
	}
	return changes
}

func ruleReason(rule string) string { return "adapt: " + rule }
