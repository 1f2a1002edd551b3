// SPDX-License-Identifier: Apache-2.0

package remediation

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
)

func TestDecideToBegin(t *testing.T) {
	two := func(p *Policy) { p.MaxUnhealthy = intstr.FromInt32(2) }
	for _, test := range []struct {
		name   string
		policy Policy
		nodes  []Node
		want   string
	}{
		{"no node", policy(nil), nil, ""},
		{"all are Ready", policy(nil), ready("a", "b", "c"), ""},
		{
			"unresponsive for long enough", policy(nil), with(ready("a", "b", "c"), "b", lost(10*time.Minute)),
			"records b; begun b; act b",
		},
		{
			"not for long enough", policy(nil), with(ready("a", "b", "c"), "b", lost(9*time.Minute)),
			"b is unresponsive since 2027-01-01T11:51:00Z, and can be remediated from 2027-01-01T12:01:00Z on; " +
				"recheck 12:01:00",
		},
		{
			"kubelet reports that the node is not Ready", policy(nil),
			with(ready("a", "b", "c"), "b", func(node *Node) { node.IsReady = false }), "",
		},
		{
			"not a member", policy(nil),
			with(ready("a", "b", "c"), "b", lost(time.Hour), func(node *Node) { node.IsMember = false }), "",
		},
		{
			"more than permitted", policy(nil),
			with(with(ready("a", "b", "c", "d", "e"), "b", lost(time.Hour)), "c", lost(time.Minute)),
			"TooManyUnhealthy; 2 of 5 nodes are unresponsive, at most 1 may be",
		},
		{
			"two are permitted", policy(two),
			with(with(ready("a", "b", "c", "d", "e"), "b", lost(time.Hour)), "c", lost(30*time.Minute)),
			"records b c; begun b c; act b c",
		},
		{
			"two at the same time are permitted", policy(two),
			with(with(ready("a", "b", "c", "d", "e"), "b", lost(time.Hour)), "c", lost(time.Hour)),
			"records b c; begun b c; act b c",
		},
		{
			"a percentage is rounded down", policy(func(p *Policy) { p.MaxUnhealthy = intstr.FromString("39%") }),
			with(with(ready("a", "b", "c", "d", "e"), "b", lost(time.Hour)), "c", lost(30*time.Minute)),
			"TooManyUnhealthy; 2 of 5 nodes are unresponsive, at most 1 may be",
		},
		{
			"a percentage is at least one node", policy(func(p *Policy) { p.MaxUnhealthy = intstr.FromString("1%") }),
			with(ready("a", "b", "c"), "b", lost(time.Hour)), "records b; begun b; act b",
		},
		{
			"an invalid limit", policy(func(p *Policy) { p.MaxUnhealthy = intstr.FromString("many") }),
			with(ready("a", "b", "c"), "b", lost(time.Hour)),
			"InvalidLimit; maxUnhealthy of the NodeRemediation: invalid value for IntOrString: " +
				"invalid type: string is not a percentage",
		},
		{
			"most nodes", policy(two), with(with(ready("a", "b", "c"), "b", lost(time.Hour)), "c", lost(30*time.Minute)),
			"ClusterOutage; 2 of 3 Nodes of the cluster are unresponsive: the control plane or a link can be the cause",
		},
		{
			"the only node", policy(nil), with(ready("a"), "a", lost(time.Hour)),
			"ClusterOutage; 1 of 1 Nodes of the cluster are unresponsive: the control plane or a link can be the cause",
		},
		{"half of the nodes", policy(nil), with(ready("a", "b"), "b", lost(time.Hour)), "records b; begun b; act b"},
		{
			"another one is remediated", policy(two),
			with(with(with(ready("a", "b", "c", "d", "e"), "a", tainted, readyFor(time.Second)), "b", lost(time.Hour)),
				"c", lost(30*time.Minute)),
			"records a*+ b; begun b; act b; " +
				"c is unresponsive, but at most 2 nodes may be remediated at a time: a, b; recheck 12:00:59",
		},
		{
			"deleted nodes count until they are back", policy(nil),
			with(with(ready("a", "b", "c", "d"), "a", deleted), "b", lost(time.Hour)),
			"records a*; TooManyUnhealthy; 2 of 4 nodes are unresponsive, at most 1 may be",
		},
		{
			"a taint of an administrator", policy(nil),
			with(ready("a", "b", "c"), "b", lost(time.Hour), func(node *Node) { node.IsOutOfService = true }), "",
		},
		{
			"to be deleted, with a taint of an administrator",
			policy(func(p *Policy) { p.Action = v1alpha1.RemediationDelete }),
			with(ready("a", "b", "c"), "b", lost(time.Hour), func(node *Node) { node.IsOutOfService = true }),
			"records b; begun b; act b",
		},
		{
			"a slot", policy(nil),
			with(ready("a", "b", "c"), "b", lost(time.Hour), func(node *Node) { node.HasSlot = true }),
			"b is unresponsive, and has a slot for its upgrade, which has not ended",
		},
		{
			"an upgrade by hand", policy(nil),
			with(ready("a", "b", "c"), "b", lost(20*time.Minute), func(node *Node) { node.IsUpgrading = true }),
			"b is unresponsive since 2027-01-01T11:40:00Z, and can be remediated from 2027-01-01T12:10:00Z on; " +
				"recheck 12:10:00",
		},
		{
			"an upgrade by hand does not end", policy(nil),
			with(ready("a", "b", "c"), "b", lost(30*time.Minute), func(node *Node) { node.IsUpgrading = true }),
			"records b; begun b; act b",
		},
		{
			"the controller has just started", policy(func(p *Policy) { p.ObservedSince = start.Add(-time.Minute) }),
			with(ready("a", "b", "c"), "b", lost(time.Hour)),
			"b is unresponsive since 2027-01-01T11:00:00Z, and can be remediated from 2027-01-01T12:09:00Z on; " +
				"recheck 12:09:00",
		},
		{
			"an outage has just ended", policy(func(p *Policy) { p.WasBlocked = true }),
			with(ready("a", "b", "c"), "b", lost(time.Hour)),
			"b is unresponsive since 2027-01-01T11:00:00Z, and can be remediated from 2027-01-01T12:10:00Z on; " +
				"not before 12:10:00; recheck 12:10:00",
		},
		{
			"an outage ended a while ago", policy(func(p *Policy) { p.NotBefore = start.Add(time.Minute) }),
			with(ready("a", "b", "c"), "b", lost(time.Hour)),
			"b is unresponsive since 2027-01-01T11:00:00Z, and can be remediated from 2027-01-01T12:01:00Z on; " +
				"not before 12:01:00; recheck 12:01:00",
		},
		{
			"an outage ended long ago", policy(func(p *Policy) { p.NotBefore = start }),
			with(ready("a", "b", "c"), "b", lost(time.Hour)), "records b; begun b; act b",
		},
		{
			"an outage has ended for all", policy(func(p *Policy) { p.WasBlocked = true }), ready("a", "b", "c"),
			"not before 12:10:00",
		},
	} {
		if got := describe(Decide(test.policy, test.nodes, clusterOf(test.nodes, 0), start)); got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.name, got, test.want)
		}
	}
}

// Nodes of other NodePools show that a link has failed.
func TestDecideWithOtherNodes(t *testing.T) {
	const together = "LostTogether; 3 Nodes of the cluster became unresponsive within a minute of b, at most 1 may"
	at := func(before ...time.Duration) (times []time.Time) {
		for _, duration := range before {
			times = append(times, start.Add(-duration))
		}
		return times
	}
	for _, test := range []struct {
		name   string
		others []time.Time
		want   string
	}{
		{"none", nil, "records b; begun b; act b"},
		{"at the same time", at(time.Hour, time.Hour), together},
		{"within a minute", at(61*time.Minute, 59*time.Minute), together},
		{"at other times", at(62*time.Minute, 58*time.Minute), "records b; begun b; act b"},
		{
			"most", at(9*time.Hour, 8*time.Hour, 7*time.Hour, 6*time.Hour, 5*time.Hour),
			"ClusterOutage; 6 of 11 Nodes of the cluster are unresponsive: the control plane or a link can be the cause",
		},
		{
			"nearly half", at(9*time.Hour, 8*time.Hour, 7*time.Hour, 6*time.Hour), "records b; begun b; act b",
		},
	} {
		nodes := with(ready("a", "b", "c"), "b", lost(time.Hour))
		cluster := clusterOf(nodes, 8)
		cluster.Unresponsive = append(cluster.Unresponsive, test.others...)
		if got := describe(Decide(policy(nil), nodes, cluster, start)); got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.name, got, test.want)
		}
	}
}

func TestDecideAboutRecords(t *testing.T) {
	taint := recorded(v1alpha1.RemediationTaint, nil)
	gone := func(node *Node) { node.Exists, node.IsReady, node.UID = false, false, "" }
	again := func(node *Node) { node.UID, node.HasOwnTaint, node.IsOutOfService = "new", false, false }
	notReady := func(node *Node) { node.IsReady = false }
	withoutTaint := func(node *Node) { node.HasOwnTaint, node.IsOutOfService = false, false }
	left := func(node *Node) { node.IsMember = false }
	terminating := func(node *Node) { node.Terminating = "default/db-0" }
	for _, test := range []struct {
		name   string
		change []func(*Node)
		want   string
	}{
		{"recorded, not tainted yet", []func(*Node){lost(time.Hour), taint}, "records b; act b"},
		{
			"recorded, and tainted by a replica that was stopped",
			[]func(*Node){lost(time.Hour), taint, func(node *Node) { node.HasOwnTaint = true }},
			"records b*",
		},
		{
			"recorded, and responsive before it was tainted",
			[]func(*Node){taint, notReady},
			"ended b (the node is responsive, before the action was done)",
		},
		{"tainted", []func(*Node){lost(time.Hour), tainted}, "records b*"},
		{
			"tainted, and the taint removed by an administrator",
			[]func(*Node){lost(time.Hour), tainted, withoutTaint},
			"records b*",
		},
		{"tainted, and kubelet reports that the node is not Ready", []func(*Node){tainted, notReady}, "records b*"},
		{"tainted, and Ready", []func(*Node){tainted}, "records b*+; recheck 12:01:00"},
		{
			"tainted, and Ready for a short time",
			[]func(*Node){tainted, readyFor(59 * time.Second)},
			"records b*+; recheck 12:00:01",
		},
		{
			"tainted, Ready, and not Ready again", []func(*Node){tainted, readyFor(time.Hour), notReady}, "records b*",
		},
		{
			"tainted, Ready, and unresponsive again",
			[]func(*Node){tainted, readyFor(time.Hour), lost(time.Second)},
			"records b*",
		},
		{
			"a pod is terminating",
			[]func(*Node){tainted, readyFor(time.Minute), terminating},
			"records b*+; the taint of b remains: pod default/db-0 is terminating on the node; recheck 12:00:30",
		},
		{"back", []func(*Node){tainted, readyFor(time.Minute)}, "records b*+; restore b"},
		{
			"back, after it has left the NodePool",
			[]func(*Node){tainted, readyFor(time.Minute), left},
			"records b*+; restore b",
		},
		{
			"the taint is removed",
			[]func(*Node){tainted, readyFor(time.Minute), withoutTaint},
			"ended b (the node is back)",
		},
		{"tainted, and deleted", []func(*Node){tainted, gone}, "ended b (the Node was deleted)"},
		{"tainted, deleted and created", []func(*Node){tainted, again}, "ended b (the Node was created again)"},
		{"deleted", []func(*Node){deleted}, "records b*"},
		{"deleted, and has left the NodePool", []func(*Node){deleted, left}, "ended b (the Node was deleted)"},
		{
			"recorded, not deleted yet",
			[]func(*Node){lost(time.Hour), recorded(v1alpha1.RemediationDelete, nil)},
			"records b; act b",
		},
		{
			"recorded, and responsive before it was deleted",
			[]func(*Node){recorded(v1alpha1.RemediationDelete, nil)},
			"ended b (the node is responsive, before the action was done)",
		},
		{
			"deleted, and created again",
			[]func(*Node){deleted, func(node *Node) { node.Exists, node.IsReady, node.UID = true, true, "new" }},
			"ended b (the Node was created again)",
		},
	} {
		nodes := with(ready("a", "b", "c"), "b", test.change...)
		if got := describe(Decide(policy(nil), nodes, clusterOf(nodes, 0), start)); got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.name, got, test.want)
		}
	}
}

// A record without its action waits in an outage, and remains.
func TestDecideAboutRecordInOutage(t *testing.T) {
	nodes := with(ready("a", "b", "c"), "b", lost(time.Hour), recorded(v1alpha1.RemediationTaint, nil))
	nodes = with(nodes, "c", lost(time.Minute))
	const want = "records b; TooManyUnhealthy; 2 of 3 nodes are unresponsive, at most 1 may be"
	if got := describe(Decide(policy(nil), nodes, clusterOf(nodes, 0), start)); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}
