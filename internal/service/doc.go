// SPDX-License-Identifier: Apache-2.0

// Package service runs the agent's service: it joins the host, with retries, and then monitors
// the node at intervals and reports findings as log messages, Kubernetes Events and metrics.
// If repairs are enabled, it repairs some of them. Start reading at Run.
//
// It also contains what the agent's other units do at every boot before kubelet starts:
// RefreshNodeIP updates the node's addresses, FollowUplink the name of br-ex's uplink.
package service
