// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// A node that cannot begin fails no rollout, and keeps no slot from the others.
func TestDecideBlockedNode(t *testing.T) {
	const cause = "pods would be lost: ns/a"
	pool := Pool{Config: "new", MaxUnavailable: intstr.FromInt32(1)}
	withdrawn := []Outcome{{Node: "a", Config: "new", Withdrawn: cause}}
	for _, test := range []struct {
		name   string
		change func(*Node)
		want   Decision
	}{
		{"no slot", func(*Node) {}, Decision{Grants: []string{"b"}, Waiting: "a: " + cause}},
		{
			"with a slot", func(node *Node) { node.Slot = &Slot{Config: "new", Given: start, Delivered: true} },
			Decision{Ended: withdrawn, Grants: []string{"b"}, Waiting: "a: " + cause},
		},
		{
			"in the upgrade", func(node *Node) {
				node.Slot, node.IsUpgrading = &Slot{Config: "new", Given: start, Delivered: true}, true
			},
			Decision{Waiting: "at most 1 of the nodes may be unavailable"},
		},
		{"the canary", func(node *Node) { node.IsCanary = true }, Decision{Waiting: "a: " + cause}},
		{"upgraded", func(node *Node) { node.Config = "new" }, Decision{Grants: []string{"b"}}},
	} {
		nodes := available("a", "b")
		nodes[0].Blocked = cause
		test.change(&nodes[0])
		if diff := cmp.Diff(test.want, Decide(pool, nodes, start)); diff != "" {
			t.Errorf("%s: decision (-want +got):\n%s", test.name, diff)
		}
	}
}
