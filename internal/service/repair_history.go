// SPDX-License-Identifier: Apache-2.0

package service

import (
	"errors"
	"io/fs"
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
	records []joinstate.Repair
	foreign bool // the file is of another version of the agent and must not be replaced
}

// loadRepairs reads the history. If it fails, the history is empty and can be used.
func loadRepairs(dir string) (repairHistory, error) {
	records, err := joinstate.LoadRepairs(dir)
	path := filepath.Join(dir, joinstate.RepairsFile)
	var unreadable *fs.PathError
	switch {
	case err == nil, errors.As(err, &unreadable):
		return repairHistory{records: records}, err
	case report.CodeOf(err) == report.Refused:
		return repairHistory{foreign: true}, report.Fail(report.Failed,
			report.Remedyf("mv %[1]s %[1]s.old", report.ShellWord(path)),
			"%s was written by another version of the agent: earlier repairs do not count, and repairs are recorded only "+
				"until the service ends", path)
	}
	return repairHistory{}, report.Fail(report.Failed, "",
		"%s is damaged: earlier repairs do not count; the next repair replaces the file", path)
}

// add appends a repair and makes the history durable.
func (h *repairHistory) add(dir string, record joinstate.Repair) error {
	h.records = append(h.records, record)
	h.records = h.records[max(0, len(h.records)-maxRepairRecords):]
	if h.foreign {
		return nil
	}
	return joinstate.SaveRepairs(dir, h.records)
}
