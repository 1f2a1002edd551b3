// Package ledger records and makes every change to the host.
//
// Before a change is made, the current state is made durable: content, owner, mode,
// extended attributes, or absence; for a unit, its state. Then the change is made, and then
// it is marked as done. An interrupted run is resumed by running it again, and every change
// can be rolled back.
//
// The file format is described in record.go. docs/ledger.md describes it in full, with the
// order of durable writes and the rules of an undo.
package ledger
