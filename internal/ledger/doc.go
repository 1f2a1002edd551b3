// Package ledger is the one door through which the host is changed.
//
// Before a change is made, what was there is made durable (content, owner,
// mode, extended attributes, or absence; the state of a unit); then the change
// is made, then it is marked done. So a run that was killed at any moment is
// resumed by running it again, and everything can be given back.
//
// The format of the ledger's file is in record.go; docs/ledger.md has it in full,
// with what is durable when, and what an undo does.
package ledger
