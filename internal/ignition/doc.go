// Package ignition is everything between the user-data stub and the list of
// changes that a host needs: reading the stub, fetching the payload from the
// ignition server, decoding it, and adapting it to the host.
//
//	stub ── Fetch ──▶ Payload ── Adapt(host facts) ──▶ Plan: changes and notes
//
// Below it, resolve fetches what a config refers to, entries turns storage and
// units into changes, accounts groups, users and SSH keys.
//
// Nothing in it changes the host. What the payload means is decided by
// coreos/ignition's own parser, for the specs 3.0 to 3.6; what of it makes
// sense on a host that was not installed from an OpenShift image is decided by
// the table in rules.go.
//
// Stub, Values and Payload hold credentials. Printed by any verb, logged or
// encoded as JSON, they show only a summary.
package ignition
