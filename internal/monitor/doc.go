// SPDX-License-Identifier: Apache-2.0

// Package monitor runs checks of a node at individual intervals and reports changes: new
// findings and resolved findings. It does not repair anything.
//
// A finding must be confirmed before it is reported. For example, kubelet misses a
// heartbeat or an API server is replaced, and a minute later the node is healthy. A check
// that could not be completed neither adds nor resolves findings.
package monitor
