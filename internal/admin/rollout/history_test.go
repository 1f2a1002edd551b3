// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
)

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
		{"0 0 30 2 *", "", time.Hour},
		{"0 0 31 2 *", "", time.Hour},
		{"0 0 31 4,6,9,11 *", "Europe/Berlin", time.Hour},
		{"0 0 30,31 2 *", "", 48 * time.Hour},
		{"@hourly", "", time.Hour},
		{" @every 1s", "", time.Hour},
		{"0 1 * * SAT", "Nowhere/City", time.Hour},
		{"0 1 * * SAT", "", 0},
		{"0 1 * * SAT", "", -time.Hour},
	} {
		if _, err := NewWindow(test.schedule, test.zone, test.duration); err == nil {
			t.Errorf("window %+v is accepted", test)
		}
	}
}

// A day that comes once in four years opens the window on that day only.
func TestWindowOfLeapDay(t *testing.T) {
	leapDay := window(t, "0 0 29 2 *", "", 24*time.Hour)
	for day, want := range map[time.Time]bool{
		time.Date(2028, 2, 29, 12, 0, 0, 0, time.UTC): true,
		time.Date(2028, 3, 1, 12, 0, 0, 0, time.UTC):  false,
		start: false,
		time.Date(2097, 1, 1, 12, 0, 0, 0, time.UTC): false, // the next one is after more than five years
	} {
		if got := leapDay.IsOpen(day); got != want {
			t.Errorf("on %s: open %t, want %t", day, got, want)
		}
	}
}

// A slot that another replica can deliver at any time does not end, whatever its node reports.
func TestUndeliveredSlotDoesNotEnd(t *testing.T) {
	pool := Pool{Config: "new", MaxUnavailable: intstr.FromInt32(1), SlotTimeout: time.Minute}
	for name, change := range map[string]func(*Node){
		"too long": func(*Node) {},
		"upgraded": func(node *Node) { node.Config = "new" },
		"failed":   func(node *Node) { node.Failure = "broken" },
		"blocked":  func(node *Node) { node.Blocked = "pods would be lost" },
		"reverted": func(node *Node) { node.Reached = "new" },
		"left":     func(node *Node) { node.HasLeft = true },
	} {
		nodes := available("a", "b")
		nodes[0].Slot = &Slot{Config: "new", Given: start.Add(-time.Hour)}
		change(&nodes[0])
		if d := Decide(pool, nodes, start); len(d.Ended)+len(d.Grants) > 0 {
			t.Errorf("%s: decision %+v", name, d)
		}
	}
}

// A percentage is one of the nodes of the NodePool: those that have left are unavailable, but permit no other.
func TestPercentageWithoutNodesThatLeft(t *testing.T) {
	nodes := with(available("a", "b", "c"), 2, func(node *Node) { node.HasLeft, node.IsUpgrading = true, true })
	pool := Pool{Config: "new", MaxUnavailable: intstr.FromString("67%")}
	if d := Decide(pool, nodes, start); len(d.Grants) > 0 {
		t.Errorf("one of two nodes may be unavailable: decision %+v", d)
	}
}

// TestRolloutOfManyNodes runs whole rollouts in which nodes upgrade, fail, restart, are cordoned, and are lost
// together, at random. Never more nodes than allowed have a slot or upgrade, no slot is given while more are
// unavailable, no node is upgraded again after a failure, and the rollout ends.
func TestRolloutOfManyNodes(t *testing.T) {
	for seed := range uint64(30) {
		random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // no secret
		pool := Pool{Config: "new", MaxUnavailable: intstr.FromString("5%"), MaxFailures: 1000}
		const count, allowed = 100, 5
		nodes := make([]Node, count)
		for i := range nodes {
			nodes[i] = Node{Name: fmt.Sprintf("node-%03d", i), Config: "old", IsAvailable: true, IsCanary: i == 42}
		}
		begun := map[string]int{}
		for round := 0; ; round++ {
			d := Decide(pool, nodes, start)
			if len(d.Grants) > 0 && Unavailable(nodes)-len(d.Ended)+len(d.Grants) > allowed {
				t.Fatalf("seed %d: %v get slots while %d nodes are unavailable", seed, d.Grants, Unavailable(nodes))
			}
			busy := 0
			for i := range nodes {
				node := &nodes[i]
				for _, end := range d.Ended {
					switch {
					case end.Node != node.Name:
					case node.IsUpgrading:
						t.Fatalf("seed %d: the slot of %s ends during its upgrade: %+v", seed, node.Name, end)
					default:
						node.Slot, node.Failure = nil, ""
						if end.Failure != "" {
							node.Failed = end.Config
						}
					}
				}
				if slices.Contains(d.Grants, node.Name) {
					node.Slot = &Slot{Config: pool.Config, Given: start}
				}
				if node.Slot != nil || node.IsUpgrading {
					busy++
				}
			}
			if busy > allowed {
				t.Fatalf("seed %d: %d nodes have a slot or upgrade, %d are allowed", seed, busy, allowed)
			}
			isDone := !slices.ContainsFunc(nodes, func(node Node) bool {
				return node.Slot != nil || node.Config != "new" && node.Failed == ""
			})
			if isDone {
				break
			}
			if round == 5000 {
				t.Fatalf("seed %d: the rollout does not end: %s", seed, d.Waiting)
			}
			outage := 0
			if random.IntN(20) == 0 {
				outage = random.IntN(count)
			}
			for i := range nodes {
				node := &nodes[i]
				switch {
				case i < outage || !node.IsUpgrading && random.IntN(500) == 0:
					node.IsAvailable = false // cordoned, restarted or not reachable
				case !node.IsAvailable && !node.IsUpgrading && random.IntN(3) == 0:
					node.IsAvailable = true
				}
				switch action := random.IntN(6); {
				case node.Slot == nil || !node.Slot.Delivered:
					if node.Slot != nil {
						node.Slot.Delivered = action > 0
					}
				case !node.IsUpgrading && node.Config == "old" && node.Failure == "":
					if action == 0 {
						node.IsUpgrading, node.IsAvailable = true, false
						begun[node.Name]++
					}
				case node.IsUpgrading && action == 1:
					node.IsUpgrading, node.IsAvailable = false, true
					if !node.IsCanary && random.IntN(10) == 0 {
						node.Failure = "broken"
					} else {
						node.Config = "new"
					}
				}
			}
		}
		for _, node := range nodes {
			if begun[node.Name] != 1 {
				t.Errorf("seed %d: %s has begun %d times and is %+v", seed, node.Name, begun[node.Name], node)
			}
		}
	}
}
