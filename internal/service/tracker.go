// SPDX-License-Identifier: Apache-2.0

package service

import (
	"cmp"
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

// key identifies a finding of a check.
type key struct {
	reason  report.Reason
	subject string
}

// Tracker records the active findings of each check. The zero value has no findings.
type Tracker struct {
	all map[string]map[key]*activeFinding
}

// update records the findings of a check at a time, and returns the changes that enough consecutive checks
// have confirmed.
//
// Findings that an incomplete check did not return remain if they were reported, and their missed checks do
// not count, because those must be consecutive. Unconfirmed findings are forgotten. Otherwise the check would
// be repeated early for as long as it is incomplete.
func (t *Tracker) update(check string, found []report.Finding, at time.Time) []Change {
	if t.all == nil {
		t.all = map[string]map[key]*activeFinding{}
	}
	if t.all[check] == nil {
		t.all[check] = map[key]*activeFinding{}
	}
	all, now, incomplete := t.all[check], map[key]bool{}, false
	for _, finding := range found {
		incomplete = incomplete || finding.Incomplete
		finding.Check, finding.Subject = check, cmp.Or(finding.Subject, finding.Message)
		k := key{finding.Reason, finding.Subject}
		if now[k] {
			continue // of several findings about a subject, the first is the most direct cause
		}
		now[k] = true
		if all[k] == nil {
			all[k] = &activeFinding{Change: Change{Since: at}}
		}
		s := all[k]
		s.Finding, s.missed = finding, 0
		s.seen++
	}
	var changes []Change
	for k, s := range all {
		switch {
		case now[k]:
		case !incomplete:
			s.seen, s.missed = 0, s.missed+1
		case s.reported:
			s.missed = 0
		default:
			delete(all, k)
		}
		switch {
		case s.seen >= confirmations && !s.reported:
			s.reported = true
			changes = append(changes, s.Change)
		case s.missed >= confirmations || (s.missed > 0 && !s.reported):
			if delete(all, k); s.reported {
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
	for _, s := range t.all[check] {
		if !s.reported || s.missed > 0 {
			return true
		}
	}
	return false
}

// active returns the reported findings that are not resolved, ordered by severity and
// then by age.
func (t *Tracker) active() []Change {
	var changes []Change
	for _, all := range t.all {
		for _, s := range all {
			if s.reported {
				changes = append(changes, s.Change)
			}
		}
	}
	slices.SortFunc(changes, func(a, b Change) int {
		return cmp.Or(report.CompareSeverity(a.Finding, b.Finding), a.Since.Compare(b.Since),
			cmp.Compare(a.Subject, b.Subject))
	})
	return changes
}
