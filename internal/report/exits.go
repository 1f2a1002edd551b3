// SPDX-License-Identifier: Apache-2.0

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
		{Usage, "usage or invalid input", "usage, or unreadable or invalid input"},
		{Refused, "refused by a check, nothing changed", "refused by a check; nothing was changed"},
		{CredentialRefused, "authentication failed", "authentication failed: the token is invalid, rotated or expired"},
		{ApprovalMissing, "CSR not approved", "timed out waiting for CSR approval"},
		{NetworkRolledBack, "network rolled back", "the network change was rolled back"},
		{RebootNeeded, "reboot required", "reboot required; then run the command again"},
		{DriftFound, "drift found", "drift found"},
		{ChangesPlanned, "changes planned", "changes planned (plan --detailed-exitcode)"},
		{Interrupted, "interrupted", "interrupted by a signal; run the command again to resume"},
	}
}
