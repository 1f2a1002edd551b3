// SPDX-License-Identifier: Apache-2.0

// Package nodecheck finds changes of a joined host that kubelet notices only when it
// restarts, or never: another host name, and other addresses. GatherHost reads the host,
// HostFacts.Findings is the pure decision. Paths finds paths to other nodes that do not carry
// the packets of the overlay network.
package nodecheck
