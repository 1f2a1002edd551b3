package report

// Exit is an exit code and what it means.
type Exit struct {
	Code    Code
	Short   string // in a list of them all
	Meaning string // for README, man pages and the reference
}

// Exits is the one table of exit codes. Help, man pages and documents are made
// from it, and the unit's restarts follow it.
func Exits() []Exit {
	return []Exit{
		{Done, "done", "done"},
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
