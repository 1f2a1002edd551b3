// SPDX-License-Identifier: Apache-2.0

// Package hostchange finds changes of a joined host that kubelet notices only when it
// restarts, or never: another host name, and other addresses. Gather reads the host,
// Findings is the pure decision.
package hostchange
