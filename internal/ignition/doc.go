// Package ignition turns HyperShift's user data into the list of changes that a host needs. It
// parses the user data, fetches the payload from the ignition server, decodes the payload, and
// adapts it to the host.
//
//	user data ── Fetch ──▶ Payload ── Adapt(host facts) ──▶ Plan: changes and notes
//
// User data is the pointer Ignition config that HyperShift stores per NodePool. The payload is
// the rendered Ignition config of a NodePool.
//
// Of the packages below, resolve fetches the resources that a config refers to, entries turns
// the storage and systemd sections into changes, and accounts manages groups, users and SSH
// keys.
//
// The package never changes the host. The parser of coreos/ignition reads the payload, for specs
// 3.0 to 3.6. The table in rules.go decides which parts apply to a host that was not installed
// from an OpenShift image.
//
// UserData, Values and Payload hold credentials. Formatted by any verb, logged or encoded as
// JSON, they show a summary only.
package ignition
