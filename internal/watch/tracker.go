package watch

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Finding is one problem that a check found.
type Finding struct {
	Severity report.Severity
	About    string // short, and constant for the same problem
	Text     string // one sentence; may change between checks
	Remedy   string // commands and notes
	// Blind means that the check is incomplete because of this finding. Other findings can
	// exist even if the check did not return them.
	Blind bool
}

// Change is a new or resolved finding.
type Change struct {
	Finding
	Look  string    // name of the check
	Since time.Time // time of the first occurrence
	Gone  bool
}

// steady is the number of consecutive checks that confirm a new or resolved finding.
const steady = 2

// standing is a finding with its confirmation state.
type standing struct {
	Change
	seen, missed int // consecutive checks
	told         bool
}

type key struct{ look, about string }

// Tracker records the active findings. The zero value has no findings.
type Tracker struct {
	all map[key]*standing
}

// See records the findings of a check at a time, and returns the confirmed changes.
func (t *Tracker) See(look string, found []Finding, at time.Time) []Change {
	if t.all == nil {
		t.all = map[key]*standing{}
	}
	now, blind := map[key]bool{}, false
	for _, finding := range found {
		blind = blind || finding.Blind
		k := key{look, finding.About}
		if now[k] {
			continue // the first finding of several with the same subject is the nearer cause
		}
		now[k] = true
		s := t.all[k]
		if s == nil {
			s = &standing{Change: Change{Look: look, Since: at}}
			t.all[k] = s
		}
		s.Finding, s.missed = finding, 0
		s.seen++
	}
	if blind {
		t.unknown(look, now)
	}
	return t.due(look, now, blind)
}

// unknown handles findings that an incomplete check did not return. Reported findings
// remain, and their missed checks do not count, because those must be consecutive.
// Unconfirmed findings are forgotten. Otherwise the check would be repeated early for as
// long as it is incomplete.
func (t *Tracker) unknown(look string, now map[key]bool) {
	for k, s := range t.all {
		switch {
		case k.look != look || now[k]:
		case s.told:
			s.missed = 0
		default:
			delete(t.all, k)
		}
	}
}

// due returns the changes that enough consecutive checks have confirmed.
func (t *Tracker) due(look string, now map[key]bool, blind bool) []Change {
	var changes []Change
	for k, s := range t.all {
		if k.look != look {
			continue
		}
		if !now[k] && !blind {
			s.seen, s.missed = 0, s.missed+1
		}
		switch {
		case s.seen >= steady && !s.told:
			s.told = true
			changes = append(changes, s.Change)
		case s.missed >= steady || (s.missed > 0 && !s.told):
			if delete(t.all, k); s.told {
				s.Gone = true
				changes = append(changes, s.Change)
			}
		}
	}
	slices.SortFunc(changes, func(a, b Change) int { return cmp.Compare(a.About, b.About) })
	return changes
}

// unsettled reports whether a check must be repeated to confirm a change.
func (t *Tracker) unsettled(look string) bool {
	for k, s := range t.all {
		if k.look == look && (!s.told || s.missed > 0) {
			return true
		}
	}
	return false
}

// Standing returns the reported findings that are not resolved, ordered by severity and
// then by age.
func (t *Tracker) Standing() []Change {
	var told []Change
	for _, s := range slices.Collect(maps.Values(t.all)) {
		if s.told {
			told = append(told, s.Change)
		}
	}
	order := report.Severities()
	slices.SortFunc(told, func(a, b Change) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Severity), slices.Index(order, b.Severity)), a.Since.Compare(b.Since), cmp.Compare(a.About, b.About))
	})
	return told
}
