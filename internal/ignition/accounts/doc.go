// SPDX-License-Identifier: Apache-2.0

// Package accounts applies the passwd section of an Ignition config: groups,
// users and SSH keys of a tree, as changes for the ledger.
//
// The commands of shadow-utils create the groups and users, with the arguments
// that Ignition passes to them, and an undo removes them with userdel and
// groupdel. Password hashes are passed on standard input, as arguments are
// visible to every user of the host. Accounts that the agent has not created
// get SSH keys only: every other change of them is refused.
package accounts
