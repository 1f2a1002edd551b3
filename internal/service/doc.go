// SPDX-License-Identifier: Apache-2.0

// Package service runs the agent's service: it joins the host, with retries, and then monitors
// the node at intervals and reports findings as log messages, Kubernetes Events and metrics.
// If repairs are enabled, it repairs some of them. Start reading at Run.
package service
