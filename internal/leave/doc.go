// SPDX-License-Identifier: Apache-2.0

// Package leave restores a host to its state before the join: it drains the node, stops
// kubelet and its pods, unmounts their volumes and reverts the ledger. Start reading at Run
// and leaveSteps.
package leave
