// SPDX-License-Identifier: Apache-2.0

package joinstate

import (
	"path/filepath"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// MaintenanceFile is the record of an unfinished maintenance.
const MaintenanceFile = "maintenance.json"

// PhaseMaintenance is the phase of a joined host whose maintenance has not finished.
const PhaseMaintenance Phase = "maintenance"

// Maintenance is the record of an unfinished maintenance of a joined host. It exists from the moment
// before the node is cordoned until the node is schedulable again.
type Maintenance struct {
	report.TypeMeta
	Started      time.Time       `json:"started"`
	Update       bool            `json:"update,omitempty"` // packages are updated
	Reboot       bool            `json:"reboot,omitempty"` // the host is rebooted, even if no update requires it
	DrainTimeout config.Duration `json:"drainTimeout,omitempty"`
	// number of dnf's last transaction at the start; "" for none
	Transaction string `json:"transaction,omitempty"`
	Drained     bool   `json:"drained,omitempty"` // the pods are evicted
	Updated     bool   `json:"updated,omitempty"` // dnf has installed the updates
	// ID of the boot that a requested reboot ends; "" if none was requested
	RebootedFrom string `json:"rebootedFrom,omitempty"`
	// ID of the deployment that the reboot starts; "" if none was pending
	Deployment string `json:"deployment,omitempty"`
	Step       string `json:"step,omitempty"` // the last completed step
}

// ResumeMaintenance is the remedy for an unfinished maintenance.
const ResumeMaintenance report.Remedy = "hcp-node-agent maintenance # resumes the maintenance\n" +
	"hcp-node-agent maintenance --no-update # or completes it without the update"

// ReadMaintenance returns the record of the unfinished maintenance, nil if there is none. It fails if
// another version of the agent has written a record that this version does not support.
func ReadMaintenance(dir string) (*Maintenance, error) {
	content, err := LoadFile(dir, MaintenanceFile)
	if err != nil || content == nil {
		return nil, err
	}
	var record Maintenance
	if err := report.Decode(maintenanceKind, content, &record); err != nil {
		path := report.ShellWord(filepath.Join(dir, MaintenanceFile))
		return nil,
			report.Fail(report.Failed,
				report.Remedyf("dnf upgrade hcp-node-agent # if a newer version has written the file\n"+
					"# or end the maintenance, of which the file is the only record: mv %[1]s %[1]s.old; then uncordon the node",
					path),
				"reading %s: %w", path, err)
	}
	return &record, nil
}

// maintenanceKind is the kind of the record.
const maintenanceKind = "MaintenanceState"

// WriteMaintenance writes the record durably.
func WriteMaintenance(dir string, record Maintenance) error {
	record.TypeMeta = report.Meta(maintenanceKind)
	return SaveDocument(dir, MaintenanceFile, record)
}

// CheckNoMaintenance fails if a maintenance is unfinished.
func CheckNoMaintenance(dir string) error {
	record, err := ReadMaintenance(dir)
	if err != nil || record == nil {
		return err
	}
	return report.Fail(report.Refused, ResumeMaintenance, "a maintenance of this host started at %s and has not finished",
		report.Timestamp(record.Started))
}
