// SPDX-License-Identifier: Apache-2.0

// Package kube connects to the Kubernetes API. Client reads and writes the kinds
// that the agent and its approver use; the typed clientset of client-go would link
// the Go types of every API group into the binary. Conn adds retries, the server's
// clock and explanations of failed requests; Follow lists and watches objects.
// Start reading at Connect.
package kube
