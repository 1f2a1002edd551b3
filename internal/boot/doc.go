// SPDX-License-Identifier: Apache-2.0

// Package boot does what the agent's units do at every boot before kubelet starts:
// RefreshNodeIP updates the node's addresses, FollowUplink the name of br-ex's uplink.
package boot
