// SPDX-License-Identifier: Apache-2.0

// Package accounts applies the passwd section of an Ignition config: groups,
// users and SSH keys of a tree, as changes for the ledger.
//
// The commands of shadow-utils change the accounts, with the arguments that
// Ignition passes to them. Password hashes are passed on standard input, as
// arguments are visible to every user of the host. The account files are
// recorded before the first change, and restored line by line.
package accounts
