// SPDX-License-Identifier: Apache-2.0

// Package resource contains the ledger's drivers of resources other than paths, and of snapshots.
//
// A resource has a desired state, which the agent sets and an undo reverts, such as Units, Sysctls and
// Booleans. A snapshot records what exists before other components, such as kubelet, CRI-O and pods,
// write to the host, and an undo removes or reverts what they changed: DirSnapshot, for example.
package resource
