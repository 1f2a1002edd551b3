// SPDX-License-Identifier: Apache-2.0

package remediation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
)

// Decision contains the next state of a NodeRemediation, and the actions that follow its record.
type Decision struct {
	Records   []v1alpha1.RemediatedNode // remediated nodes, those that begin included
	Begun     []string                  // nodes whose record is new
	Ended     []Ending                  // records that are removed
	Act       []string                  // nodes with a record to taint or to delete
	Restore   []string                  // nodes whose own taint is removed
	Nodes     int                       // members of the NodePool
	Unhealthy int                       // members that are unresponsive, or were deleted
	Blocked   string                    // reason of the condition Blocked, "" if nothing blocks
	Waiting   string                    // why unresponsive nodes are not remediated now, "" if none waits
	NotBefore time.Time                 // time before which no node is remediated; zero for none
	Recheck   time.Time                 // when the decision can change although nothing else does; zero for never
}

// Ending is the end of a remediation.
type Ending struct {
	Node  string
	Cause string
}

// Reasons of the condition Blocked.
const (
	ReasonTooManyUnhealthy = "TooManyUnhealthy" // in the NodePool
	ReasonClusterOutage    = "ClusterOutage"    // most Nodes of the cluster
	ReasonLostTogether     = "LostTogether"     // several Nodes at the same time
	ReasonInvalidLimit     = "InvalidLimit"
	ReasonForbidden        = "Forbidden" // the controller lacks a permission; set by the controller
)

// IsOutage reports whether a reason of the condition Blocked is an outage, after which nodes need time to return.
func IsOutage(reason string) bool {
	return slices.Contains([]string{ReasonTooManyUnhealthy, ReasonClusterOutage, ReasonLostTogether}, reason)
}

// Decide decides which nodes are remediated and which are back. Nothing begins while the cause can be the control plane
// or a link, and for the time After of the policy afterwards, so that other nodes can return.
func Decide(policy Policy, nodes []Node, cluster Cluster, now time.Time) Decision {
	d := Decision{NotBefore: policy.NotBefore}
	nodes = slices.Clone(nodes)
	slices.SortFunc(nodes, func(a, b Node) int { return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Name, b.Name)) })
	for i := range nodes {
		d.follow(&nodes[i], now)
	}
	for _, node := range nodes {
		if !node.IsMember {
			continue
		}
		d.Nodes++
		if node.IsUnresponsive || node.Record != nil && !node.Exists {
			d.Unhealthy++
		}
	}
	limit, err := v1alpha1.ScaleLimit(policy.MaxUnhealthy, d.Nodes)
	candidates := slices.DeleteFunc(nodes, func(node Node) bool { return !node.isCandidate(policy.Action) })
	if err != nil {
		d.Blocked, d.Waiting = ReasonInvalidLimit, "maxUnhealthy of the NodeRemediation: "+err.Error()
	} else {
		d.block(candidates, cluster, limit)
	}
	if d.Blocked != "" {
		return d.sorted()
	}
	if policy.WasBlocked {
		d.NotBefore = now.Add(policy.After).Truncate(time.Second)
	}
	if !d.NotBefore.After(now) {
		d.NotBefore = time.Time{}
	}
	earliest := policy.ObservedSince.Add(policy.After)
	if d.NotBefore.After(earliest) {
		earliest = d.NotBefore
	}
	for _, node := range candidates {
		d.begin(policy, node, earliest, limit, now)
	}
	return d.sorted()
}

// sorted returns the decision with its lists in the order of names.
func (d Decision) sorted() Decision {
	slices.SortFunc(d.Records, func(a, b v1alpha1.RemediatedNode) int { return cmp.Compare(a.Node, b.Node) })
	slices.SortFunc(d.Ended, func(a, b Ending) int { return cmp.Compare(a.Node, b.Node) })
	return d
}

// follow keeps the record of a node, or ends it when the node is back. Before its taint is removed, the node must be
// Ready for a time, without pods that are terminating: other nodes can run their successors.
//
// A record ends only if its action cannot follow any more: the Node was deleted, or it has changed since it was
// unresponsive, so that a replica that is still about to act gets a conflict.
func (d *Decision) follow(node *Node, now time.Time) {
	if node.Record == nil {
		return
	}
	record := *node.Record
	cause := "the node is responsive, before the action was done"
	if record.Applied {
		cause = "the node is back"
	}
	end := func(cause string) {
		node.Record = nil
		d.Ended = append(d.Ended, Ending{Node: node.Name, Cause: cause})
	}
	switch {
	case !node.Exists && record.Action == v1alpha1.RemediationDelete && node.IsMember:
		record.Applied = true
	case !node.Exists:
		end("the Node was deleted")
		return
	case node.UID != record.UID:
		end("the Node was created again")
		return
	case node.IsUnresponsive:
		record.Applied, record.ReadySince = record.Applied || node.HasOwnTaint, nil
	case !node.HasOwnTaint:
		end(cause)
		return
	case !node.IsReady:
		record.Applied, record.ReadySince = true, nil
	case record.ReadySince == nil:
		since := metav1.NewTime(now.Truncate(time.Second))
		record.Applied, record.ReadySince = true, &since
		d.recheckAt(since.Add(settleTime))
	case !node.NeedsPods(now):
		d.recheckAt(record.ReadySince.Add(settleTime))
	case node.Terminating != "":
		d.wait("the taint of " + node.Name + " remains: pod " + node.Terminating + " is terminating on the node")
		d.recheckAt(now.Add(podInterval))
	default:
		d.Restore = append(d.Restore, node.Name)
	}
	node.Record = &record
	d.Records = append(d.Records, record)
}

// podInterval is the time between two decisions while pods are terminating on a node that is back.
const podInterval = 30 * time.Second

// block sets why no candidate is remediated: too many nodes are unresponsive, or became so at the same time.
func (d *Decision) block(candidates []Node, cluster Cluster, limit int) {
	if len(candidates) == 0 {
		return
	}
	switch {
	case d.Unhealthy > limit:
		d.Blocked = ReasonTooManyUnhealthy
		d.Waiting = fmt.Sprintf("%d of %d nodes are unresponsive, at most %d may be", d.Unhealthy, d.Nodes, limit)
		return
	case cluster.isOutage():
		d.Blocked = ReasonClusterOutage
		d.Waiting = fmt.Sprintf("%d of %d Nodes of the cluster are unresponsive: "+
			"the control plane or a link can be the cause", len(cluster.Unresponsive), cluster.Nodes)
		return
	}
	for _, node := range candidates {
		if count := cluster.lostWith(node.Since); count > limit {
			d.Blocked = ReasonLostTogether
			d.Waiting = fmt.Sprintf("%d Nodes of the cluster became unresponsive within a minute of %s, at most %d may",
				count, node.Name, limit)
			return
		}
	}
}

// begin lets the action of a candidate begin, or follow its record, if its time has come.
func (d *Decision) begin(policy Policy, node Node, earliest time.Time, limit int, now time.Time) {
	at := node.dueAt(policy.After)
	if earliest.After(at) {
		at = earliest
	}
	switch {
	case node.HasSlot:
		d.wait(node.Name + " is unresponsive, and has a slot for its upgrade, which has not ended")
	case at.After(now):
		d.wait(fmt.Sprintf("%s is unresponsive since %s, and can be remediated from %s on", node.Name,
			timestamp(node.Since), timestamp(at)))
		d.recheckAt(at)
	case node.Record != nil:
		d.Act = append(d.Act, node.Name)
	case len(d.Records) >= limit:
		var names []string
		for _, record := range d.Records {
			names = append(names, record.Node)
		}
		slices.Sort(names)
		d.wait(fmt.Sprintf("%s is unresponsive, but at most %d nodes may be remediated at a time: %s", node.Name, limit,
			strings.Join(names, ", ")))
	default:
		d.Records = append(d.Records, v1alpha1.RemediatedNode{
			Node: node.Name, UID: node.UID, Action: policy.Action, At: metav1.NewTime(now.Truncate(time.Second)),
		})
		d.Begun, d.Act = append(d.Begun, node.Name), append(d.Act, node.Name)
	}
}

func timestamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// wait sets why a node waits, unless another one does.
func (d *Decision) wait(reason string) { d.Waiting = cmp.Or(d.Waiting, reason) }

// recheckAt demands another decision at a time.
func (d *Decision) recheckAt(t time.Time) {
	if d.Recheck.IsZero() || t.Before(d.Recheck) {
		d.Recheck = t
	}
}
