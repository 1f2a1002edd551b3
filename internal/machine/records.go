// SPDX-License-Identifier: Apache-2.0

package machine

import "github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"

// RemoveRecords removes the agent's own records durably after the host is restored.
// The state is removed last, because the next run uses it to remove the other
// records.
func (m *Machine) RemoveRecords(dir string) error {
	if err := m.Ledger.Remove(); err != nil {
		return err
	}
	if err := joinstate.RemoveFiles(dir, joinstate.KeyDir, joinstate.PayloadFile, joinstate.SoftwareFile,
		joinstate.LayerFile,
		joinstate.OverridesFile, joinstate.UserDataFile, joinstate.JoinTokenFile, joinstate.BridgeRecordFile,
		joinstate.NextFile, joinstate.ReplacedFile, joinstate.PreviousFile, joinstate.PurgeFile,
		joinstate.PackagesDir, joinstate.RepairsFile, joinstate.MaintenanceFile, joinstate.AttemptFile,
		joinstate.PublishedCAsFile, joinstate.ImageFile, joinstate.HoldFile, joinstate.AdoptionFile); err != nil {
		return err
	}
	return joinstate.RemoveFiles(dir, joinstate.StateFile)
}
