// SPDX-License-Identifier: Apache-2.0

package ledger

import "github.com/hcp-node-agent/hcp-node-agent/internal/report"

// PublishedDifference is a Difference in a published document.
type PublishedDifference struct {
	Kind    Kind   `json:"kind" doc:"kind of the object, such as file, link, unit or sysctl"`
	Target  string `json:"target" doc:"path or name of the object"`
	Step    string `json:"step" doc:"step of the join that changed the object"`
	Reason  string `json:"reason,omitempty" doc:"source of the setting"`
	Desired State  `json:"desired" doc:"state that the join created"`
	Now     State  `json:"now" doc:"current state"`
	Backup  string `json:"backup,omitempty" doc:"path of a backup of the state before the join"`
	// Remedy is how an administrator restores an object that a leave keeps.
	Remedy report.Remedy `json:"remedy,omitempty" doc:"how to restore an object that the join has not recorded"`
}

// Publish returns the differences for a published document.
func Publish(differences []Difference) []PublishedDifference {
	all := make([]PublishedDifference, 0, len(differences))
	for _, d := range differences {
		all = append(all, PublishedDifference{
			Kind:    d.Kind,
			Target:  d.Target,
			Step:    d.Step,
			Reason:  d.Reason,
			Desired: d.Desired.Published(),
			Now:     d.Now.Published(),
			Backup:  d.Backup,
		})
	}
	return all
}
