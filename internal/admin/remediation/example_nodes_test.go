// SPDX-License-Identifier: Apache-2.0

package remediation

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
)

var start = time.Date(2027, 1, 1, 12, 0, 0, 0, time.UTC)

// policy returns the default policy, of a controller that has observed the nodes for a day, after a change.
func policy(change func(*Policy)) Policy {
	p := Policy{
		Action: v1alpha1.RemediationTaint, After: 10 * time.Minute, MaxUnhealthy: intstr.FromInt32(1),
		ObservedSince: start.Add(-24 * time.Hour),
	}
	if change != nil {
		change(&p)
	}
	return p
}

// ready returns members that are Ready.
func ready(names ...string) []Node {
	var nodes []Node
	for _, name := range names {
		nodes = append(nodes, Node{Name: name, UID: types.UID(name + "-uid"), IsMember: true, Exists: true, IsReady: true})
	}
	return nodes
}

// with returns nodes after a change of one of them.
func with(nodes []Node, name string, changes ...func(*Node)) []Node {
	for i := range nodes {
		if nodes[i].Name == name {
			for _, change := range changes {
				change(&nodes[i])
			}
		}
	}
	return nodes
}

// lost makes a node unresponsive since a time before the start.
func lost(before time.Duration) func(*Node) {
	return func(node *Node) { node.IsReady, node.IsUnresponsive, node.Since = false, true, start.Add(-before) }
}

// recorded adds a record of an action that began 5 minutes before the start, after a change.
func recorded(action v1alpha1.RemediationAction, change func(*v1alpha1.RemediatedNode)) func(*Node) {
	return func(node *Node) {
		node.Record = &v1alpha1.RemediatedNode{
			Node: node.Name, UID: node.UID, Action: action, At: metav1.NewTime(start.Add(-5 * time.Minute)),
		}
		if change != nil {
			change(node.Record)
		}
	}
}

// tainted adds a taint and its record.
func tainted(node *Node) {
	recorded(v1alpha1.RemediationTaint, func(record *v1alpha1.RemediatedNode) { record.Applied = true })(node)
	node.HasOwnTaint, node.IsOutOfService = true, true
}

// deleted deletes a node, and adds the record of it.
func deleted(node *Node) {
	recorded(v1alpha1.RemediationDelete, func(record *v1alpha1.RemediatedNode) { record.Applied = true })(node)
	node.Exists, node.IsReady, node.IsUnresponsive, node.UID = false, false, false, ""
}

// readyFor makes a node Ready, as the controller has observed for a time.
func readyFor(duration time.Duration) func(*Node) {
	return func(node *Node) {
		node.IsReady, node.IsUnresponsive = true, false
		since := metav1.NewTime(start.Add(-duration))
		node.Record.ReadySince = &since
	}
}

// clusterOf returns the cluster that contains only the nodes and a number of others that are responsive.
func clusterOf(nodes []Node, others int) Cluster {
	c := Cluster{Nodes: others}
	for _, node := range nodes {
		if node.Exists {
			c.Nodes++
		}
		if node.IsUnresponsive {
			c.Unresponsive = append(c.Unresponsive, node.Since)
		}
	}
	return c
}

// describe returns a decision as text. An asterisk marks a record whose action is done, a plus sign one whose node is
// Ready.
func describe(d Decision) string {
	var parts []string
	add := func(name string, list []string) {
		if slices.Sort(list); len(list) > 0 {
			parts = append(parts, name+" "+strings.Join(list, " "))
		}
	}
	var records, ended []string
	for _, record := range d.Records {
		text := record.Node
		if record.Applied {
			text += "*"
		}
		if record.ReadySince != nil {
			text += "+"
		}
		records = append(records, text)
	}
	for _, end := range d.Ended {
		ended = append(ended, end.Node+" ("+end.Cause+")")
	}
	add("records", records)
	add("begun", slices.Clone(d.Begun))
	add("act", slices.Clone(d.Act))
	add("restore", slices.Clone(d.Restore))
	add("ended", ended)
	if d.Blocked != "" {
		parts = append(parts, d.Blocked)
	}
	if d.Waiting != "" {
		parts = append(parts, d.Waiting)
	}
	if !d.NotBefore.IsZero() {
		parts = append(parts, "not before "+d.NotBefore.Format(time.TimeOnly))
	}
	if !d.Recheck.IsZero() {
		parts = append(parts, "recheck "+d.Recheck.Format(time.TimeOnly))
	}
	return strings.Join(parts, "; ")
}
