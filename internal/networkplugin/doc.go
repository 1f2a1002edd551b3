// SPDX-License-Identifier: Apache-2.0

// Package networkplugin removes what OVN-Kubernetes, kubelet and CRI-O added to
// the host's network while the host was a node: bridges, interfaces, addresses,
// routes, rules, packet filter chains, and settings of Open vSwitch.
//
// listLeftovers is the pure decision from the gathered facts. Driver is the ledger's
// driver: it records the leftovers that exist before the join, and an undo removes
// those that came since.
package networkplugin
