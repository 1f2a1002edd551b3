// Package accounts is the passwd section of an Ignition config: the groups and
// users of a tree, their homes and their SSH keys, as changes for the ledger.
//
// The programs of shadow-utils make the accounts, as Ignition has them do it,
// with two differences: a password hash goes by standard input and not by an
// argument that everybody can see, and a home is made, moved, handed over and
// removed by this package, so that a kill leaves no half of it and that an undo
// gives it back.
package accounts
