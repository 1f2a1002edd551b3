package bootstrap

// RemoveRecords removes the agent's own records durably after the host is restored.
// The state is removed last, because the next run uses it to remove the other
// records.
func (m *Machine) RemoveRecords(dir string) error {
	if err := m.Ledger.Remove(); err != nil {
		return err
	}
	if err := RemoveFiles(dir, KeyDir, PayloadFile, OverridesFile, UserDataFile, JoinTokenFile, BridgeRecordFile); err != nil {
		return err
	}
	return RemoveFiles(dir, StateFile)
}
