package watch

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Finding is one thing that is not as it should be.
type Finding struct {
	Severity report.Severity
	About    string // in a few words that stay the same while the finding does
	Text     string // one sentence; what is in it may change from look to look
	Remedy   string // the next command to type
	// Blind says that for this reason the look could not find all that it looks
	// for: what it does not find can be there all the same.
	Blind bool
}

// Change is a finding that has come, or gone.
type Change struct {
	Finding
	Look  string    // that has found it
	Since time.Time // when it was first seen
	Gone  bool
}

// steady is how many looks one after the other a finding has to be there, or
// away, until that counts.
const steady = 2

// standing is a finding on its way in or out.
type standing struct {
	Change
	seen, missed int // looks, one after the other
	told         bool
}

type key struct{ look, about string }

// Tracker knows what stands. The zero value knows nothing.
type Tracker struct {
	all map[key]*standing
}

// See takes what a look has found at a time, and gives what is to be told.
func (t *Tracker) See(look string, found []Finding, at time.Time) []Change {
	if t.all == nil {
		t.all = map[key]*standing{}
	}
	now, blind := map[key]bool{}, false
	for _, finding := range found {
		blind = blind || finding.Blind
		k := key{look, finding.About}
		if now[k] {
			continue // of two that are about the same thing the first is the nearer cause
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

// unknown is for what a look that was blind has not found. What was told stays,
// and is not on its way out any more: the looks that miss it have to follow each
// other. What was seen once is forgotten, or it would have to be looked at again
// and again for as long as nothing can be seen.
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

// due gives what has been there, or away, for long enough.
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

// unsettled tells whether a look has to be taken again before it is known what
// is to be told.
func (t *Tracker) unsettled(look string) bool {
	for k, s := range t.all {
		if k.look == look && (!s.told || s.missed > 0) {
			return true
		}
	}
	return false
}

// Standing lists what was told and has not gone, the worst and oldest first.
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
