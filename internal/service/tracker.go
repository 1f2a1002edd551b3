// SPDX-License-Identifier: Apache-2.0

package service

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Change is a new or resolved finding.
type Change struct {
	report.Finding
	Since    time.Time // time of the first occurrence
	Resolved bool
}

// confirmations is the number of consecutive checks that confirm a new or resolved finding.
const confirmations = 2

// activeFinding is a finding with its confirmation state.
type activeFinding struct {
	Change
	seen, missed int // consecutive checks
	reported     bool
}

type key struct {
	check   string
	reason  report.Reason
	subject string
}

// Tracker records the active findings. The zero value has no findings.
type Tracker struct {
	all map[key]*activeFinding
}

// update records the findings of a check at a time, and returns the confirmed changes.
func (t *Tracker) update(check string, found []report.Finding, at time.Time) []Change {
	if t.all == nil {
		t.all = map[key]*activeFinding{}
	}
	now, incomplete := map[key]bool{}, false
	for _, finding := range found {
		incomplete = incomplete || finding.Incomplete
		finding.Subject = cmp.Or(finding.Subject, finding.Message)
		k := key{check, finding.Reason, finding.Subject}
		if now[k] {
			continue // of several findings about a subject, the first is the most direct cause
		}
		now[k] = true
		s := t.all[k]
		if s == nil {
			s = &activeFinding{Change: Change{Since: at}}
			t.all[k] = s
		}
		finding.Check = check
		s.Finding, s.missed = finding, 0
		s.seen++
	}
	if incomplete {
		t.keepUnchecked(check, now)
	}
	return t.confirmed(check, now, incomplete)
}

// keepUnchecked handles findings that an incomplete check did not return. Reported findings
// remain, and their missed checks do not count, because those must be consecutive.
// Unconfirmed findings are forgotten. Otherwise the check would be repeated early for as
// long as it is incomplete.
func (t *Tracker) keepUnchecked(check string, now map[key]bool) {
	for k, s := range t.all {
		switch {
		case k.check != check || now[k]:
		case s.reported:
			s.missed = 0
		default:
			delete(t.all, k)
		}
	}
}

// confirmed returns the changes that enough consecutive checks have confirmed.
func (t *Tracker) confirmed(check string, now map[key]bool, incomplete bool) []Change {
	var changes []Change
	for k, s := range t.all {
		if k.check != check {
			continue
		}
		if !now[k] && !incomplete {
			s.seen, s.missed = 0, s.missed+1
		}
		switch {
		case s.seen >= confirmations && !s.reported:
			s.reported = true
			changes = append(changes, s.Change)
		case s.missed >= confirmations || (s.missed > 0 && !s.reported):
			if delete(t.all, k); s.reported {
				s.Resolved = true
				changes = append(changes, s.Change)
			}
		}
	}
	slices.SortFunc(changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.Reason, b.Reason))
	})
	return changes
}

// needsConfirmation reports whether a check must be repeated to confirm a change.
func (t *Tracker) needsConfirmation(check string) bool {
	for k, s := range t.all {
		if k.check == check && (!s.reported || s.missed > 0) {
			return true
		}
	}
	return false
}

// hasActive reports whether a check has findings, reported or not.
func (t *Tracker) hasActive(check string) bool {
	for k := range t.all {
		if k.check == check {
			return true
		}
	}
	return false
}

// active returns the reported findings that are not resolved, ordered by severity and
// then by age.
func (t *Tracker) active() []Change {
	var changes []Change
	for _, s := range slices.Collect(maps.Values(t.all)) {
		if s.reported {
			changes = append(changes, s.Change)
		}
	}
	slices.SortFunc(changes, func(a, b Change) int {
		return cmp.Or(report.CompareSeverity(a.Finding, b.Finding), a.Since.Compare(b.Since),
			cmp.Compare(a.Subject, b.Subject))
	})
	return changes
}
