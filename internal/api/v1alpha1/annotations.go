// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Annotations of a Node that the controller writes. They permit the agent to upgrade the node.
const (
	AnnotationUserData      = "hcp-node-agent.io/user-data"      // name of the Secret with the user data
	AnnotationNextConfig    = "hcp-node-agent.io/next-config"    // of the Secret; its downloads can be prepared
	AnnotationDesiredConfig = "hcp-node-agent.io/desired-config" // to which the node may be upgraded now
	AnnotationSlot          = "hcp-node-agent.io/slot"           // ID of the permission
	AnnotationAllowMajor    = "hcp-node-agent.io/allow-major"    // "true": also to another major version of RHEL
)

// Annotations of a Node that the agent writes with the credential of the node. A node can write anything there about
// itself, so they are never a reason to trust it.
const (
	AnnotationReported           = "hcp-node-agent.io/reported" // time of the report
	AnnotationState              = "hcp-node-agent.io/state"    // an AgentState
	AnnotationReason             = "hcp-node-agent.io/reason"   // the nearest cause of the state
	AnnotationRelease            = "hcp-node-agent.io/release"
	AnnotationCurrentConfig      = "hcp-node-agent.io/current-config" // TargetConfigVersionHash of the NodePool
	AnnotationHostClass          = "hcp-node-agent.io/host-class"
	AnnotationAPIServer          = "hcp-node-agent.io/api-server"          // URL that the node uses
	AnnotationCertificateExpires = "hcp-node-agent.io/certificate-expires" // of the first certificate to expire
	AnnotationFailedSlot         = "hcp-node-agent.io/failed-slot"         // ID of the slot whose upgrade failed
	AnnotationBlocked            = "hcp-node-agent.io/blocked"             // why no upgrade can begin
	AnnotationFailure            = "hcp-node-agent.io/failure"             // why it failed
)

// AgentState is the state of a node as its agent reports it.
type AgentState string

// States of a node.
const (
	AgentHealthy   AgentState = "Healthy"
	AgentDegraded  AgentState = "Degraded" // the agent has found a problem
	AgentDrifted   AgentState = "Drifted"  // the host differs from what the agent has applied
	AgentUpgrading AgentState = "Upgrading"
)
