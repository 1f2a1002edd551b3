// SPDX-License-Identifier: Apache-2.0

// Package hostnet reads and changes the host's network by netlink: links, addresses,
// routes, policy rules, neighbours. Pinger measures an interruption, AddressKeeper keeps
// addresses on a link while NetworkManager activates another profile. It is the only
// package that uses netlink.
package hostnet
