// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"
)

var start = time.Date(2027, 1, 1, 12, 0, 0, 0, time.UTC) // a Friday

// available returns nodes that can be upgraded.
func available(names ...string) []Node {
	var nodes []Node
	for _, name := range names {
		nodes = append(nodes, Node{Name: name, Config: "old", IsAvailable: true})
	}
	return nodes
}

// with returns nodes after a change of one of them.
func with(nodes []Node, index int, change func(*Node)) []Node {
	change(&nodes[index])
	return nodes
}

func TestDecide(t *testing.T) {
	one := intstr.FromInt32(1)
	pool := func(change func(*Pool)) Pool {
		p := Pool{Config: "new", MaxUnavailable: one}
		change(&p)
		return p
	}
	unchanged := func(*Pool) {}
	slot := func(config string) func(*Node) {
		return func(node *Node) { node.Slot = &Slot{Config: config, Given: start.Add(-time.Hour), Delivered: true} }
	}
	for _, test := range []struct {
		name  string
		pool  Pool
		nodes []Node
		want  Decision
	}{
		{"no node", pool(unchanged), nil, Decision{}},
		{
			"configuration unknown", Pool{Blocked: "not published"}, available("a"), Decision{Waiting: "not published"},
		},
		{"all up to date", pool(func(p *Pool) { p.Config = "old" }), available("a", "b"), Decision{}},
		{
			"one at a time, by name", pool(unchanged), available("b", "a"),
			Decision{Grants: []string{"a"}, Waiting: "at most 1 of the nodes may be unavailable"},
		},
		{
			"a percentage is rounded down", pool(func(p *Pool) { p.MaxUnavailable = intstr.FromString("67%") }),
			available("a", "b", "c"),
			Decision{Grants: []string{"a", "b"}, Waiting: "at most 2 of the nodes may be unavailable"},
		},
		{
			"a percentage of less than one node", pool(func(p *Pool) { p.MaxUnavailable = intstr.FromString("10%") }),
			available("a"),
			Decision{Grants: []string{"a"}},
		},
		{
			"a number that is none", pool(func(p *Pool) { p.MaxUnavailable = intstr.FromString("many") }), available("a"),
			Decision{Waiting: "maxUnavailable of the NodePool: invalid value for IntOrString: " +
				"invalid type: string is not a percentage"},
		},
		{
			"another node is unavailable", pool(unchanged),
			with(available("a", "b"), 1, func(node *Node) { node.IsAvailable, node.Config = false, "new" }),
			Decision{Waiting: "at most 1 of the nodes may be unavailable"},
		},
		{
			"an unavailable node gets no slot", pool(func(p *Pool) { p.MaxUnavailable = intstr.FromInt32(2) }),
			with(available("a", "b"), 0, func(node *Node) { node.IsAvailable = false }),
			Decision{Grants: []string{"b"}, Waiting: "node a is unavailable"},
		},
		{
			"more nodes than allowed are unavailable", pool(unchanged),
			with(with(available("a", "b", "c"), 0, func(node *Node) { node.IsAvailable = false }), 1,
				func(node *Node) { node.IsAvailable = false }),
			Decision{Waiting: "2 of the nodes are unavailable, at most 1 may be"},
		},
		{
			"an outage before the upgrade has begun", pool(unchanged),
			with(with(available("a", "b"), 0, slot("new")), 1, func(node *Node) { node.IsAvailable = false }),
			Decision{
				Ended:   []Outcome{{Node: "a", Config: "new", Withdrawn: "too many nodes are unavailable"}},
				Waiting: "at most 1 of the nodes may be unavailable",
			},
		},
		{
			"an outage after the upgrade has begun", pool(unchanged),
			with(with(with(available("a", "b"), 0, slot("new")), 0, func(node *Node) { node.IsUpgrading = true }), 1,
				func(node *Node) { node.IsAvailable = false }),
			Decision{Waiting: "2 of the nodes are unavailable, at most 1 may be"},
		},
		{
			"an outage before the slot was delivered", pool(unchanged),
			with(with(with(available("a", "b"), 0, slot("new")), 0, func(node *Node) { node.Slot.Delivered = false }), 1,
				func(node *Node) { node.IsAvailable = false }),
			Decision{Waiting: "2 of the nodes are unavailable, at most 1 may be"},
		},
		{
			"a slot that another replica was about to end", pool(unchanged),
			with(with(available("a"), 0, slot("new")), 0, func(node *Node) { node.Slot.Revoked = true }),
			Decision{Ended: []Outcome{{Node: "a", Config: "new", Withdrawn: "the node has not begun"}}, Grants: []string{"a"}},
		},
		{
			"a node has left before it has begun", pool(unchanged),
			with(with(available("a", "b"), 0, slot("new")), 0, func(node *Node) { node.HasLeft = true }),
			Decision{
				Ended: []Outcome{{Node: "a", Config: "new", Withdrawn: "the node has left the NodePool"}}, Grants: []string{"b"},
			},
		},
		{
			"a node has left, but upgrades", pool(unchanged),
			with(with(available("a", "b"), 0, slot("new")), 0, func(node *Node) { node.HasLeft, node.IsUpgrading = true, true }),
			Decision{Waiting: "at most 1 of the nodes may be unavailable"},
		},
		{
			"a node is upgraded by hand", pool(unchanged),
			with(available("a", "b"), 0, func(node *Node) { node.IsUpgrading = true }),
			Decision{Waiting: "at most 1 of the nodes may be unavailable"},
		},
		{
			"a slot is in use", pool(unchanged), with(available("a", "b"), 0, slot("new")),
			Decision{Waiting: "at most 1 of the nodes may be unavailable"},
		},
		{
			"a slot for a former configuration", pool(unchanged), with(available("a", "b"), 0, slot("former")),
			Decision{
				Ended:  []Outcome{{Node: "a", Config: "former", Withdrawn: "the NodePool has another configuration"}},
				Grants: []string{"a"}, Waiting: "at most 1 of the nodes may be unavailable",
			},
		},
		{
			"a slot for a former configuration is in use", pool(unchanged),
			with(with(available("a", "b"), 0, slot("former")), 0, func(node *Node) { node.IsUpgrading = true }),
			Decision{Waiting: "at most 1 of the nodes may be unavailable"},
		},
		{
			"a node is upgraded", pool(unchanged),
			with(with(available("a", "b"), 0, slot("new")), 0, func(node *Node) { node.Config = "new" }),
			Decision{Ended: []Outcome{{Node: "a", Config: "new"}}, Grants: []string{"b"}},
		},
		{
			"a node has the configuration, but still upgrades", pool(unchanged),
			with(with(available("a", "b"), 0, slot("new")), 0, func(node *Node) {
				node.Config, node.IsUpgrading = "new", true
			}),
			Decision{Waiting: "at most 1 of the nodes may be unavailable"},
		},
		{
			"a node fails, and the rollout stops", pool(unchanged),
			with(with(available("a", "b"), 0, slot("new")), 0, func(node *Node) { node.Failure = "broken" }),
			Decision{
				Ended:   []Outcome{{Node: "a", Config: "new", Failure: "broken"}},
				Waiting: "failed upgrades: 1, first that of a",
			},
		},
		{
			"a failure is tolerated, but not retried", pool(func(p *Pool) { p.MaxFailures = 1 }),
			with(available("a", "b"), 0, func(node *Node) { node.Failed = "new" }),
			Decision{Grants: []string{"b"}},
		},
		{
			"a failure of a former configuration", pool(unchanged),
			with(available("a"), 0, func(node *Node) { node.Failed = "former" }),
			Decision{Grants: []string{"a"}},
		},
		{
			"a node is rolled back by hand", pool(unchanged),
			with(available("a", "b"), 0, func(node *Node) { node.Reached = "new" }),
			Decision{
				Ended: []Outcome{{
					Node: "a", Config: "new",
					Failure: "the node had the configuration, and now reports configuration old: it was rolled back",
				}},
				Waiting: "failed upgrades: 1, first that of a",
			},
		},
		{
			"a node that is rolled back has failed already", pool(func(p *Pool) { p.MaxFailures = 1 }),
			with(available("a", "b"), 0, func(node *Node) { node.Reached, node.Failed = "new", "new" }),
			Decision{Grants: []string{"b"}},
		},
		{
			"a node is being rolled back", pool(unchanged),
			with(available("a"), 0, func(node *Node) { node.Reached, node.IsUpgrading = "new", true }),
			Decision{},
		},
		{
			"a node that had the configuration is upgraded to it again", pool(unchanged),
			with(with(available("a"), 0, slot("new")), 0, func(node *Node) { node.Reached = "new" }),
			Decision{},
		},
		{
			"a node that had the configuration reports none", pool(unchanged),
			with(available("a"), 0, func(node *Node) { node.Reached, node.Config = "new", "" }),
			Decision{Waiting: "node a does not report its configuration"},
		},
		{
			"a node had another configuration", pool(unchanged),
			with(available("a"), 0, func(node *Node) { node.Reached = "former" }),
			Decision{Grants: []string{"a"}},
		},
		{
			"a slot lasts too long", pool(func(p *Pool) { p.SlotTimeout = time.Hour }),
			with(available("a", "b"), 0, slot("new")),
			Decision{
				Ended:   []Outcome{{Node: "a", Config: "new", Failure: "the upgrade did not end within 1h0m0s"}},
				Waiting: "failed upgrades: 1, first that of a",
			},
		},
		{
			"a slot can still end", pool(func(p *Pool) { p.SlotTimeout = 2 * time.Hour }), with(available("a"), 0, slot("new")),
			Decision{Recheck: start.Add(time.Hour)},
		},
		{
			"the canary first", pool(func(p *Pool) { p.MaxUnavailable = intstr.FromInt32(2) }),
			with(available("a", "b"), 1, func(node *Node) { node.IsCanary = true }),
			Decision{Grants: []string{"b"}, Waiting: "the canary nodes are upgraded first"},
		},
		{
			"the canary upgrades", pool(func(p *Pool) { p.MaxUnavailable = intstr.FromInt32(2) }),
			with(with(available("a", "b"), 1, func(node *Node) { node.IsCanary = true }), 1, slot("new")),
			Decision{Waiting: "the canary nodes are upgraded first"},
		},
		{
			"the canary is upgraded", pool(unchanged),
			with(available("a", "b"), 1, func(node *Node) { node.IsCanary, node.Config = true, "new" }),
			Decision{Grants: []string{"a"}},
		},
		{
			"the canary fails", pool(func(p *Pool) { p.MaxFailures = 9 }),
			with(available("a", "b"), 1, func(node *Node) { node.IsCanary, node.Failed = true, "new" }),
			Decision{Waiting: "the upgrade of the canary b failed"},
		},
		{
			"blocked", pool(func(p *Pool) { p.Blocked = "the NodePool is paused" }), available("a"),
			Decision{Waiting: "the NodePool is paused"},
		},
		{
			"blocked with a slot in use", pool(func(p *Pool) { p.Blocked = "the NodePool is paused" }),
			with(with(available("a"), 0, slot("new")), 0, func(node *Node) { node.Config = "new" }),
			Decision{Ended: []Outcome{{Node: "a", Config: "new"}}},
		},
		{
			"blocked before the upgrade has begun", pool(func(p *Pool) { p.Blocked = "the NodePool is paused" }),
			with(available("a"), 0, slot("new")),
			Decision{
				Ended:   []Outcome{{Node: "a", Config: "new", Withdrawn: "the NodePool is paused"}},
				Waiting: "the NodePool is paused",
			},
		},
		{
			"the window closes before the upgrade has begun",
			pool(func(p *Pool) { p.Window = window(t, "0 11 * * FRI", "", time.Hour-time.Minute) }),
			with(available("a"), 0, slot("new")),
			Decision{
				Ended: []Outcome{{
					Node: "a", Config: "new", Withdrawn: "the maintenance window opens at 2027-01-08T11:00:00Z",
				}},
				Waiting: "the maintenance window opens at 2027-01-08T11:00:00Z",
				Recheck: time.Date(2027, 1, 8, 11, 0, 0, 0, time.UTC),
			},
		},
		{
			"the window closes after the upgrade has begun",
			pool(func(p *Pool) { p.Window = window(t, "0 11 * * FRI", "", time.Hour-time.Minute) }),
			with(with(available("a"), 0, slot("new")), 0, func(node *Node) { node.IsUpgrading = true }),
			Decision{Recheck: time.Date(2027, 1, 8, 11, 0, 0, 0, time.UTC)},
		},
		{
			"before the window", pool(func(p *Pool) { p.Window = window(t, "0 1 * * SAT", "", 4*time.Hour) }), available("a"),
			Decision{
				Waiting: "the maintenance window opens at 2027-01-02T01:00:00Z",
				Recheck: time.Date(2027, 1, 2, 1, 0, 0, 0, time.UTC),
			},
		},
		{
			"in the window", pool(func(p *Pool) { p.Window = window(t, "0 12 * * FRI", "Europe/Berlin", 2*time.Hour) }),
			available("a"),
			Decision{Grants: []string{"a"}, Recheck: start.Add(time.Hour)},
		},
	} {
		got := Decide(test.pool, test.nodes, start)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: decision (-want +got):\n%s", test.name, diff)
		}
	}
}
