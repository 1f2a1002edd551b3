// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"

	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
)

// AdoptionDocument is an Adoption in a published document.
type AdoptionDocument struct {
	Recorded    int                    `json:"recorded" doc:"number of objects that a leave removes, because they cannot have existed before the join"`
	Kept        []joinstate.KeptObject `json:"kept" doc:"objects that have their desired state and that a leave keeps"`
	Differences []AdoptionDifference   `json:"differences" doc:"objects that differ from the plan; they are not changed until the next join"`
}

// AdoptionDifference is an object that differs from the plan.
type AdoptionDifference struct {
	Kind       ledger.Kind `json:"kind" doc:"kind of the object, such as file, link, unit or sysctl"`
	Target     string      `json:"target" doc:"path or name of the object"`
	Difference string      `json:"difference" doc:"what differs, without contents of files"`
}

// Document returns the adoption for a document.
func (a Adoption) Document() *AdoptionDocument {
	document := &AdoptionDocument{
		Kept: append([]joinstate.KeptObject{}, a.Kept...),
		Differences: lists.Map(a.Differences, func(p ledger.PlannedChange) AdoptionDifference {
			return AdoptionDifference{Kind: p.Kind, Target: p.Target, Difference: describeDifference(p)}
		}),
	}
	for _, made := range a.Made {
		document.Recorded += len(made)
	}
	return document
}

// String returns the difference on one line.
func (d AdoptionDifference) String() string {
	return fmt.Sprintf("%s %s: %s", d.Kind, d.Target, d.Difference)
}

// describeDifference returns in a few words what differs.
func describeDifference(p ledger.PlannedChange) string {
	want, now := p.Desired, p.Now
	switch {
	case !now.Present:
		return "does not exist"
	case !want.Present:
		return "exists; the payload requires that it does not"
	case now.Type != "" && p.Kind.FileType() != now.Type:
		return "is of another type: " + string(now.Type)
	case want.Digest != "" && want.Digest != now.Digest:
		return "other content"
	case want.Link != "" && want.Link != now.Link:
		return "links to " + now.Link + ", not to " + want.Link
	case want.Mode != nil && now.Mode != nil && *want.Mode != *now.Mode:
		return fmt.Sprintf("mode %04o, not %04o", *now.Mode, *want.Mode)
	case now.Type != "":
		return "other owner"
	case want.Enabled != "" && want.Enabled != now.Enabled:
		return now.Enabled + ", not " + want.Enabled
	case want.Active != "" && want.Active != now.Active:
		return now.Active + ", not " + want.Active
	case p.Kind == ledger.Sysctl:
		return now.Value + ", not " + want.Value
	}
	return "other settings"
}
