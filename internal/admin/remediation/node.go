// SPDX-License-Identifier: Apache-2.0

package remediation

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
)

// Policy describes what is done with unresponsive nodes of a NodePool, and when.
type Policy struct {
	Action        v1alpha1.RemediationAction
	After         time.Duration      // how long a node must have been unresponsive
	MaxUnhealthy  intstr.IntOrString // nodes of the NodePool that may be unresponsive
	ObservedSince time.Time          // since when the controller observes the nodes without an interruption
	WasBlocked    bool               // by an outage, in the last decision
	NotBefore     time.Time          // of the last decision; zero for none
}

// Node is the state of one node of the NodePool, or of one that has left it and has a record.
type Node struct {
	Name           string
	UID            types.UID
	IsMember       bool                     // enrolled in the NodePool
	Exists         bool                     // the Node exists
	IsReady        bool                     // the Node is Ready
	IsUnresponsive bool                     // kubelet has stopped reporting
	Since          time.Time                // since when it is unresponsive
	IsUpgrading    bool                     // the agent has reported that it upgrades the node
	HasSlot        bool                     // a NodeRollout permits its upgrade now
	IsOutOfService bool                     // the Node has a taint out-of-service, that of an administrator included
	HasOwnTaint    bool                     // the Node has the taint of the record
	Terminating    string                   // a pod that is terminating on it, "" for none; see NeedsPods
	Record         *v1alpha1.RemediatedNode // nil if it is not remediated
}

// settleTime is how long a node must be Ready again before its taint is removed. Meanwhile kubelet stops the containers
// of pods that were deleted.
const settleTime = time.Minute

// NeedsPods reports whether a decision depends on the pods of the node: its taint is removed when none is terminating.
func (n Node) NeedsPods(now time.Time) bool {
	return n.Record != nil && n.Record.UID == n.UID && n.IsReady && n.HasOwnTaint && n.Record.ReadySince != nil &&
		!now.Before(n.Record.ReadySince.Add(settleTime))
}

// isCandidate reports whether the action must be done with the node, if nothing prevents it.
func (n Node) isCandidate(action v1alpha1.RemediationAction) bool {
	switch {
	case !n.IsMember || !n.Exists || !n.IsUnresponsive, n.Record != nil && n.Record.Applied:
		return false
	case n.Record != nil:
		action = n.Record.Action
	}
	return action != v1alpha1.RemediationTaint || !n.IsOutOfService
}

// maxUpgradeOutage is how long a node whose agent has reported an upgrade may be unresponsive. It can reboot twice.
const maxUpgradeOutage = 30 * time.Minute

// dueAt returns when the node has been unresponsive for long enough.
func (n Node) dueAt(after time.Duration) time.Time {
	if n.IsUpgrading {
		after = max(after, maxUpgradeOutage)
	}
	return n.Since.Add(after)
}

// Cluster is the state of all Nodes of the cluster, those of other NodePools and without NodePool included.
type Cluster struct {
	Nodes        int
	Unresponsive []time.Time // since when each unresponsive Node is so
}

// isOutage reports whether more than half of the Nodes are unresponsive: then the cause is not in the hosts, but in the
// control plane or a link. kube-controller-manager stops its evictions at 55 percent.
func (c Cluster) isOutage() bool { return 2*len(c.Unresponsive) > c.Nodes }

// sameTime is the difference of times at which Nodes have become unresponsive for one cause, such as a switch. Kubelets
// renew their Leases every 10 seconds, and kube-controller-manager checks the Nodes every 5 seconds. A
// workerLatencyProfile changes neither: its nodeStatusUpdateFrequency is that of the status, and its grace period is
// the same for all Nodes.
const sameTime = time.Minute

// lostWith returns the number of Nodes that have become unresponsive at nearly the same time as one of them, which is
// included.
func (c Cluster) lostWith(since time.Time) int {
	return lists.Count(c.Unresponsive, func(other time.Time) bool { return other.Sub(since).Abs() <= sameTime })
}
