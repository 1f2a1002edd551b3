package ignition

import (
	"path"
	"slices"

	"github.com/coreos/ignition/v2/config/v3_6/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// scene is what the rules look at while a plan is made of a payload.
type scene struct {
	in      AdaptInput
	payload *Payload
	table   []rule
	plan    *Plan
	brought map[string]types.Unit // the units whose contents the payload has and no rule leaves out
	needed  map[string]string     // the units that must be there, and who says so
}

func newScene(p *Payload, in AdaptInput) *scene {
	s := &scene{in: in, payload: p, table: rules(), plan: &Plan{}, brought: map[string]types.Unit{}}
	for _, u := range p.Config.Systemd.Units {
		if r := s.rule(kindUnit, u.Name, subject{unit: u}, true); r != nil && r.effect == leaveOut {
			continue
		}
		if text(u.Contents) != "" && !masked(u) {
			s.brought[u.Name] = u
		}
	}
	s.needed = s.needs()
	return s
}

// subject is the entry that a rule is asked about.
type subject struct {
	unit    types.Unit
	content string // of a file or drop-in
	mode    uint32 // of a file
}

// rule finds the first rule of the table that is for an entry. Early ones
// alone count while it is not known yet which units there will be.
func (s *scene) rule(kind entryKind, name string, about subject, early bool) *rule {
	for i, r := range s.table {
		if r.kind != kind || (early && r.late) || !slices.ContainsFunc(r.match, func(pattern string) bool { return matches(pattern, name) }) {
			continue
		}
		if r.when == nil || r.when(s, about) {
			return &s.table[i]
		}
	}
	return nil
}

func matches(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return err == nil && ok
}

// note tells of a rule that was used.
func (s *scene) note(subject string, r *rule) {
	s.plan.Notes = append(s.plan.Notes, Note{Subject: subject, Action: r.effect.action(), Reason: r.reason, Rule: r.name})
}

// users looks at the accounts; refuse has let none but core through.
func (s *scene) users() {
	for _, user := range s.payload.Config.Passwd.Users {
		if r := s.rule(kindUser, user.Name, subject{}, false); r != nil {
			s.note("user "+user.Name, r)
		}
	}
}

// files takes the changes of storage through the rules.
func (s *scene) files(changes []ledger.Change) {
	for _, change := range changes {
		about := subject{content: string(change.Want.Content)}
		if change.Want.Mode != nil {
			about.mode = *change.Want.Mode
		}
		r := s.rule(kindFile, change.Target, about, false)
		if r == nil {
			s.plan.Files = append(s.plan.Files, change)
			continue
		}
		s.note(change.Target, r)
		switch r.effect {
		case leaveOut:
			continue
		case ownerOnly:
			private := *change.Want.Mode &^ 0o077
			change.Want.Mode = &private
			change.Why = "adapt: " + r.name
		}
		s.plan.Files = append(s.plan.Files, change)
	}
}

// units takes the units through the rules.
func (s *scene) units() {
	for _, u := range s.payload.Config.Systemd.Units {
		r := s.rule(kindUnit, u.Name, subject{unit: u}, false)
		if r != nil {
			s.note(u.Name, r)
			if r.effect == leaveOut {
				continue
			}
		}
		u, removed := s.dropins(u)
		s.plan.Files = append(s.plan.Files, removed...)
		s.plan.Files = append(s.plan.Files, unitFiles(u)...)
		if r != nil && r.add != nil {
			s.add(r, r.add(s, u))
		}
		if u.Enabled == nil || (r != nil && r.effect.keepsDisabled()) {
			continue
		}
		if u.Name == KubeletUnit {
			s.plan.Kubelet = append(s.plan.Kubelet, enablement(u))
			continue
		}
		s.plan.Units = append(s.plan.Units, enablement(u))
	}
}

// dropins takes the drop-ins of a unit through the rules. It gives the unit
// with those that stay, and the removal of those that must not be there.
func (s *scene) dropins(u types.Unit) (types.Unit, []ledger.Change) {
	var kept []types.Dropin
	var removed []ledger.Change
	for _, dropin := range u.Dropins {
		r := s.rule(kindDropin, dropin.Name, subject{unit: u, content: text(dropin.Contents)}, false)
		if r == nil {
			kept = append(kept, dropin)
			continue
		}
		target := dropinPath(u.Name, dropin.Name)
		s.note(target, r)
		removed = append(removed, ledger.Change{Kind: ledger.File, Target: target, Why: "adapt: " + r.name})
	}
	u.Dropins = kept
	return u, removed
}

// additions asks the rules that are for the host as a whole.
func (s *scene) additions() {
	for i, r := range s.table {
		if r.kind == kindHost && (r.when == nil || r.when(s, subject{})) {
			changes := r.add(s, types.Unit{})
			for _, change := range changes {
				s.note(change.Target, &s.table[i])
			}
			s.add(&s.table[i], changes)
		}
	}
}

func (s *scene) add(r *rule, changes []ledger.Change) {
	for _, change := range changes {
		change.Why = "adapt: " + r.name
		s.plan.Files = append(s.plan.Files, change)
	}
}
