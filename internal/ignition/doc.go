// SPDX-License-Identifier: Apache-2.0

// Package ignition gets the payload of a node: it parses HyperShift's user data, fetches the
// payload from the ignition server, and decodes it. Start reading at UserData and Fetcher.
//
// User data is the pointer Ignition config that HyperShift stores per NodePool. The payload is
// the rendered Ignition config of a NodePool. The parser of coreos/ignition reads it, for specs
// 3.0 to 3.6.
//
// Of the packages below, fetch makes the requests, resolve fetches the resources that a config
// refers to, adapt decides what becomes of the payload on a host, entries turns the storage and
// systemd sections into changes, and accounts manages groups, users and SSH keys.
//
// UserData, Values and Payload hold credentials. Formatted by any verb, logged or encoded as
// JSON, they show a summary only.
package ignition
