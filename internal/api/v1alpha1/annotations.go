// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Namespace contains, in a hosted cluster, all objects of hcp-node-admin that have a namespace.
const Namespace = "hcp-node-admin"

// LabelNodePool is the label with the name of the NodePool of a Secret with user data.
const LabelNodePool = "hcp-node-agent.io/nodepool"

// UserDataKey is the key of the user data in its Secret.
const UserDataKey = "user-data.ign"

// UserDataSecret returns the name of the Secret with the current user data of a NodePool, in Namespace. The Role and
// the RoleBinding that permit to get it have the same name.
func UserDataSecret(nodePool string) string { return "user-data-" + nodePool }

// HostServiceAccount returns the name of the ServiceAccount, in Namespace, with which a host that has not joined yet
// gets the user data of its NodePool.
func HostServiceAccount(node string) string { return "node-" + node }

// Annotations of the Secret with the user data of a NodePool.
const (
	AnnotationPoolConfig         = "hcp-node-agent.io/config"          // TargetConfigVersionHash of the NodePool
	AnnotationPoolRelease        = "hcp-node-agent.io/release"         // OpenShift release of the NodePool
	AnnotationPoolMaxUnavailable = "hcp-node-agent.io/max-unavailable" // number or percentage
	AnnotationPoolPaused         = "hcp-node-agent.io/paused"          // why the NodePool is paused, if it is
	AnnotationPoolExpires        = "hcp-node-agent.io/expires"         // end of the token's validity, if it is known
	AnnotationPoolProblem        = "hcp-node-agent.io/problem"         // why newer user data is not published
)

// Annotations of a Node that the controller writes. They permit the agent to upgrade the node.
const (
	AnnotationUserData      = "node.hcp-agent.io/user-data"      // name of the Secret with the user data
	AnnotationNextConfig    = "node.hcp-agent.io/next-config"    // of the Secret; its downloads can be prepared
	AnnotationDesiredConfig = "node.hcp-agent.io/desired-config" // to which the node may be upgraded now
	AnnotationSlot          = "node.hcp-agent.io/slot"           // ID of the permission
)

// Annotations of a Node that the agent writes with the credential of the node. A node can write anything there about
// itself, so they are never a reason to trust it.
const (
	AnnotationReported           = "node.hcp-agent.io/reported" // time of the report
	AnnotationState              = "node.hcp-agent.io/state"    // an AgentState
	AnnotationReason             = "node.hcp-agent.io/reason"   // the nearest cause of the state
	AnnotationRelease            = "node.hcp-agent.io/release"
	AnnotationCurrentConfig      = "node.hcp-agent.io/current-config" // TargetConfigVersionHash of the NodePool
	AnnotationHostClass          = "node.hcp-agent.io/host-class"
	AnnotationCertificateExpires = "node.hcp-agent.io/certificate-expires" // of the first certificate to expire
	AnnotationFailedSlot         = "node.hcp-agent.io/failed-slot"         // ID of the slot whose upgrade failed
	AnnotationFailure            = "node.hcp-agent.io/failure"             // why it failed
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
