// SPDX-License-Identifier: Apache-2.0

package service

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// maxRepairRecords is the number of repairs in the history. They are sufficient for the limits: those of a
// day, even if findings of every reason are repaired as often as permitted.
const maxRepairRecords = 288

// repairHistory contains the last repairs, the newest last. It is durable, because the limits of repairs
// must also apply to a service that crashes or is restarted.
type repairHistory struct {
	records []repairRecord
	foreign bool // the file is of another version of the agent and must not be replaced
}

// repairDocument is the content of joinstate.RepairsFile.
type repairDocument struct {
	report.TypeMeta
	Repairs []repairRecord `json:"repairs"`
}

const repairDocumentKind = "RepairHistory"

// loadRepairs reads the history. If it fails, the history is empty and can be used.
func loadRepairs(dir string) (repairHistory, error) {
	content, err := joinstate.LoadFile(dir, joinstate.RepairsFile)
	if err != nil || content == nil {
		return repairHistory{}, err
	}
	path := filepath.Join(dir, joinstate.RepairsFile)
	if !json.Valid(content) {
		return repairHistory{}, report.Fail(report.Failed, "",
			"%s is damaged: earlier repairs do not count; the next repair replaces the file", path)
	}
	var document repairDocument
	if err := report.Decode(repairDocumentKind, content, &document); err != nil {
		return repairHistory{foreign: true}, report.Fail(report.Failed, report.Remedyf("rm %s", report.ShellWord(path)),
			"%s was written by another version of the agent: earlier repairs do not count, and repairs are recorded only "+
				"until the service ends", path)
	}
	return repairHistory{records: document.Repairs}, nil
}

// add appends a repair and makes the history durable.
func (h *repairHistory) add(dir string, record repairRecord) error {
	h.records = append(h.records, record)
	h.records = h.records[max(0, len(h.records)-maxRepairRecords):]
	if h.foreign {
		return nil
	}
	content, err := json.Marshal(repairDocument{TypeMeta: report.Meta(repairDocumentKind), Repairs: h.records})
	if err != nil {
		return fmt.Errorf("encoding the last repairs: %w", err)
	}
	return joinstate.SaveFile(dir, joinstate.RepairsFile, content)
}
