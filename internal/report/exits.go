package report

// ExitStatus describes an exit code.
type ExitStatus struct {
	Code    Code
	Short   string // for the list of all exit codes
	Meaning string // for the README, man pages and the reference
}

// ExitStatuses returns the table of exit codes. Help, man pages and documents are generated from
// it, and the restart settings of the unit follow it.
func ExitStatuses() []ExitStatus {
	return []ExitStatus{
		{Success, "done", "done"},
		{Failed, "failed", "failed"},
		{Usage, "usage or bad input", "usage, or input that cannot be read or is not valid"},
		{Refused, "refused by a check, nothing changed", "refused by a check; nothing was changed"},
		{CredentialRefused, "credential refused", "credential refused: wrong, rotated or expired token"},
		{ApprovalMissing, "approval missing", "approval did not come"},
		{NetworkRolledBack, "network rolled back", "the network change was rolled back"},
		{RebootNeeded, "reboot needed", "reboot needed, then run it again"},
		{DriftFound, "drift found", "drift found"},
		{Interrupted, "interrupted", "interrupted by a signal; run it again to go on"},
	}
}
