// SPDX-License-Identifier: Apache-2.0

// Package ledger records and makes every change to the host.
//
// Before a change, the current state of the object is made durable. Then the change is made, and
// then it is recorded as done. Thus an interrupted run is resumed by running it again, and Undo
// restores every object as it was before the first change, unless others have changed it since.
//
// A driver reads, sets and restores the objects of one kind. This package contains the driver of
// Paths, and applies and restores many paths at once. The package resource contains the drivers of
// units, sysctls, kernel modules, and of snapshots of what other components change.
//
// Start reading at Apply and Undo. record.go describes the file format; docs/ledger.md also
// describes the order of durable writes and the rules of an undo.
package ledger
