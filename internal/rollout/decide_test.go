// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"math/rand/v2"
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
		return func(node *Node) { node.Slot = &Slot{Config: config, Given: start.Add(-time.Hour)} }
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
			Decision{Give: []string{"a"}, Waiting: "at most 1 of the nodes may be unavailable"},
		},
		{
			"a percentage is rounded down", pool(func(p *Pool) { p.MaxUnavailable = intstr.FromString("67%") }),
			available("a", "b", "c"),
			Decision{Give: []string{"a", "b"}, Waiting: "at most 2 of the nodes may be unavailable"},
		},
		{
			"a percentage of less than one node", pool(func(p *Pool) { p.MaxUnavailable = intstr.FromString("10%") }),
			available("a"),
			Decision{Give: []string{"a"}},
		},
		{
			"a number that is none", pool(func(p *Pool) { p.MaxUnavailable = intstr.FromString("many") }), available("a"),
			Decision{Waiting: "maxUnavailable of the NodePool: invalid value for IntOrString: " +
				"invalid type: string is not a percentage"},
		},
		{
			"another node is unavailable", pool(unchanged),
			with(with(available("a", "b"), 1, func(node *Node) { node.IsAvailable = false }), 1,
				func(node *Node) { node.Config = "new" }),
			Decision{Waiting: "at most 1 of the nodes may be unavailable"},
		},
		{
			"an unavailable node takes no other node away", pool(unchanged),
			with(available("a", "b"), 1, func(node *Node) { node.IsAvailable = false }),
			Decision{Give: []string{"b"}, Waiting: "at most 1 of the nodes may be unavailable"},
		},
		{
			"a slot is in use", pool(unchanged), with(available("a", "b"), 0, slot("new")),
			Decision{Waiting: "at most 1 of the nodes may be unavailable"},
		},
		{
			"a slot for a former configuration is in use", pool(unchanged), with(available("a", "b"), 0, slot("former")),
			Decision{Waiting: "at most 1 of the nodes may be unavailable"},
		},
		{
			"a node is upgraded", pool(unchanged),
			with(with(available("a", "b"), 0, slot("new")), 0, func(node *Node) { node.Config = "new" }),
			Decision{Ends: []Outcome{{Node: "a", Config: "new"}}, Give: []string{"b"}},
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
				Ends:    []Outcome{{Node: "a", Config: "new", Failure: "broken"}},
				Waiting: "failed upgrades: 1, first that of a",
			},
		},
		{
			"a failure is tolerated, but not retried", pool(func(p *Pool) { p.MaxFailures = 1 }),
			with(available("a", "b"), 0, func(node *Node) { node.Failed = "new" }),
			Decision{Give: []string{"b"}},
		},
		{
			"a failure of a former configuration", pool(unchanged),
			with(available("a"), 0, func(node *Node) { node.Failed = "former" }),
			Decision{Give: []string{"a"}},
		},
		{
			"a slot lasts too long", pool(func(p *Pool) { p.SlotTimeout = time.Hour }),
			with(available("a", "b"), 0, slot("new")),
			Decision{
				Ends:    []Outcome{{Node: "a", Config: "new", Failure: "the upgrade did not end within 1h0m0s"}},
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
			Decision{Give: []string{"b"}, Waiting: "the canary nodes are upgraded first"},
		},
		{
			"the canary upgrades", pool(func(p *Pool) { p.MaxUnavailable = intstr.FromInt32(2) }),
			with(with(available("a", "b"), 1, func(node *Node) { node.IsCanary = true }), 1, slot("new")),
			Decision{Waiting: "the canary nodes are upgraded first"},
		},
		{
			"the canary is upgraded", pool(unchanged),
			with(available("a", "b"), 1, func(node *Node) { node.IsCanary, node.Config = true, "new" }),
			Decision{Give: []string{"a"}},
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
			Decision{Ends: []Outcome{{Node: "a", Config: "new"}}},
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
			Decision{Give: []string{"a"}, Recheck: start.Add(time.Hour)},
		},
	} {
		got := Decide(test.pool, test.nodes, start)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: decision (-want +got):\n%s", test.name, diff)
		}
	}
}

func window(t *testing.T, schedule, zone string, duration time.Duration) *Window {
	t.Helper()
	parsed, err := NewWindow(schedule, zone, duration)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func TestNewWindowRefuses(t *testing.T) {
	for _, test := range []struct {
		schedule, zone string
		duration       time.Duration
	}{
		{"", "", time.Hour},
		{"0 1 * *", "", time.Hour},
		{"0 25 * * SAT", "", time.Hour},
		{"0 1 * * SAT", "Nowhere/City", time.Hour},
		{"0 1 * * SAT", "", 0},
		{"0 1 * * SAT", "", -time.Hour},
	} {
		if _, err := NewWindow(test.schedule, test.zone, test.duration); err == nil {
			t.Errorf("window %+v is accepted", test)
		}
	}
}

// TestRolloutOfManyNodes runs whole rollouts with nodes that upgrade, fail and become unavailable at random. Never more
// nodes than allowed are unavailable because of the rollout, and no node is upgraded again after a failure.
func TestRolloutOfManyNodes(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // no secret
		pool := Pool{Config: "new", MaxUnavailable: intstr.FromString("5%"), MaxFailures: 1000}
		const count, allowed = 100, 5
		nodes := make([]Node, count)
		for i := range nodes {
			nodes[i] = Node{Name: fmt.Sprintf("node-%03d", i), Config: "old", IsAvailable: true, IsCanary: i == 42}
		}
		slots := map[string]int{}
		for round := 0; ; round++ {
			if round == 1000 {
				t.Fatalf("seed %d: the rollout does not end", seed)
			}
			d := Decide(pool, nodes, start)
			for i := range nodes {
				node := &nodes[i]
				for _, end := range d.Ends {
					if end.Node == node.Name {
						node.Slot, node.Failure, node.IsAvailable = nil, "", true
						if end.Failure != "" {
							node.Failed = end.Config
						}
					}
				}
				for _, name := range d.Give {
					if name == node.Name {
						node.Slot = &Slot{Config: pool.Config, Given: start}
						slots[name]++
					}
				}
			}
			busy := 0
			for i := range nodes {
				if nodes[i].Slot != nil {
					busy++
				}
			}
			if busy > allowed {
				t.Fatalf("seed %d: %d nodes have a slot, %d are allowed", seed, busy, allowed)
			}
			if busy == 0 {
				break
			}
			for i := range nodes {
				if node := &nodes[i]; node.Slot != nil {
					switch random.IntN(4) {
					case 0:
						node.Config, node.IsAvailable = "new", true
					case 1:
						node.IsAvailable = false // reboots
					case 2:
						if !node.IsCanary && random.IntN(10) == 0 {
							node.Failure = "broken"
						}
					}
				}
			}
		}
		for _, node := range nodes {
			if slots[node.Name] != 1 || node.Config != "new" && node.Failed == "" {
				t.Errorf("seed %d: %s had %d slots and is %+v", seed, node.Name, slots[node.Name], node)
			}
		}
	}
}
