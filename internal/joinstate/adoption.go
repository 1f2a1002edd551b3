// SPDX-License-Identifier: Apache-2.0

package joinstate

import (
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// AdoptionFile is the record of an adoption.
const AdoptionFile = "adoption.json"

// AdoptionRecord describes a join with --adopt, which found the host as a node. It is written before the ledger, and
// StateFile after it. Without StateFile, and unless it is finished, the adoption was interrupted, and the ledger
// describes no change of the host.
type AdoptionRecord struct {
	report.TypeMeta
	Kept []KeptObject `json:"kept"`
	// Finished is set after StateFile was written: if that file is lost, the ledger can describe changes of later joins.
	Finished bool `json:"finished,omitempty"`
}

// Keeps reports whether a leave keeps the object of an item as it is: the state before the join is not known, and the
// agent has not changed the object since the adoption. It returns false for a nil record.
func (a *AdoptionRecord) Keeps(item ledger.Item) bool {
	return a != nil && item.Matches(item.Before) && slices.ContainsFunc(a.Kept, func(kept KeptObject) bool {
		return kept.Kind == item.Kind && kept.Target == item.Target
	})
}

// KeptObject is an object of the payload whose state before the join is not known. The ledger has the state at the
// adoption as the one before.
type KeptObject struct {
	Kind    ledger.Kind `json:"kind" doc:"kind of the object, such as file, link, unit or sysctl"`
	Target  string      `json:"target" doc:"path or name of the object"`
	Reason  string      `json:"reason" doc:"why a leave keeps the object"`
	Package string      `json:"package,omitempty" doc:"package to which the file belongs"`
}

// Remedy returns how an administrator restores the object, "" if there is no command.
func (k KeptObject) Remedy() report.Remedy {
	if k.Package == "" {
		return ""
	}
	return report.Remedyf("# to restore the file of the package, move %s to another directory, then: dnf reinstall %s",
		report.ShellWord(k.Target), report.ShellWord(k.Package))
}

const kindAdoption = "Adoption"

// Save writes the record durably.
func (a AdoptionRecord) Save(dir string) error {
	a.TypeMeta = report.Meta(kindAdoption)
	return SaveDocument(dir, AdoptionFile, a)
}

// LoadAdoption reads the record, nil if there is none.
func LoadAdoption(dir string) (*AdoptionRecord, error) {
	var a AdoptionRecord
	exists, err := LoadDocument(dir, AdoptionFile, kindAdoption, &a)
	if err != nil || !exists {
		return nil, err
	}
	return &a, nil
}

// IsAdopting reports whether an adoption of the host has not finished.
func IsAdopting(dir string, state State) (bool, error) {
	if state.Exists() {
		return false, nil
	}
	record, err := LoadAdoption(dir)
	return record != nil && !record.Finished, err
}

// FinishAdoption records the end of the adoption, after StateFile was written.
func FinishAdoption(dir string) error {
	record, err := LoadAdoption(dir)
	if err != nil || record == nil {
		return err
	}
	record.Finished = true
	return record.Save(dir)
}

// CheckNotAdopting fails if an adoption of the host has not finished. The records in the ledger are then not those of
// changes.
func CheckNotAdopting(dir string, state State) error {
	adopting, err := IsAdopting(dir, state)
	if err != nil || !adopting {
		return err
	}
	return report.Fail(report.Refused, "hcp-node-agent join --adopt --user-data USER_DATA # completes it\n"+
		"hcp-node-agent leave # only removes its records, and changes nothing else",
		"a join with --adopt of this host has not finished")
}
