// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Node is the state of one node of the pool.
type Node struct {
	Name        string
	Config      string // that the node reports
	IsAvailable bool   // the Node is Ready and not cordoned
	IsUpgrading bool   // the node reports that its upgrade is in progress
	IsCanary    bool   // upgraded before the others
	Slot        *Slot  // nil if it has none
	Failed      string // configuration to which its last upgrade failed, "" for none
	Failure     string // why the node reports that its upgrade to the configuration of its slot failed, "" if it does not
}

// Slot permits a node to upgrade to a configuration.
type Slot struct {
	Config string
	Given  time.Time // by the clock of the controller
}

// Outcome is the end of a slot.
type Outcome struct {
	Node    string
	Config  string
	Failure string // "" if the node was upgraded
}

// Decision contains the changes of a rollout.
type Decision struct {
	Ends    []Outcome // slots that have ended
	Give    []string  // nodes that get a slot for the configuration of the pool
	Waiting string    // why nodes that are not up to date get no slot, "" if none waits
	Recheck time.Time // when the decision can change although nothing else does; zero for never
}

// Decide decides which slots end and which nodes get one. It never retries a node whose upgrade failed: an
// administrator removes Failed.
func Decide(pool Pool, nodes []Node, now time.Time) Decision {
	var d Decision
	nodes = slices.Clone(nodes)
	slices.SortFunc(nodes, func(a, b Node) int { return cmp.Compare(a.Name, b.Name) })
	for i := range nodes {
		d.endSlot(pool, &nodes[i], now)
	}
	if pool.Config == "" {
		d.Waiting = pool.Blocked
		return d
	}
	candidates := candidatesOf(pool, nodes)
	if len(candidates) == 0 {
		return d
	}
	if next := pool.Window.nextChange(now); !next.IsZero() && (d.Recheck.IsZero() || next.Before(d.Recheck)) {
		d.Recheck = next
	}
	if d.Waiting = reasonToWait(pool, nodes, now); d.Waiting != "" {
		return d
	}
	limit, err := pool.maxUnavailable(len(nodes))
	if err != nil {
		d.Waiting = err.Error()
		return d
	}
	onlyCanaries := slices.ContainsFunc(nodes, func(node Node) bool {
		return node.IsCanary && (node.Config != pool.Config || !node.IsAvailable)
	})
	free := limit - Unavailable(nodes)
	for _, node := range candidates {
		switch {
		case onlyCanaries && !node.IsCanary:
			d.Waiting = "the canary nodes are upgraded first"
			return d
		case node.IsAvailable && free <= 0:
			d.Waiting = fmt.Sprintf("at most %d of the nodes may be unavailable", limit)
			return d
		case node.IsAvailable:
			free--
		}
		d.Give = append(d.Give, node.Name)
	}
	return d
}

// endSlot ends the slot of a node if its upgrade has ended, or lasts too long.
func (d *Decision) endSlot(pool Pool, node *Node, now time.Time) {
	if node.Slot == nil {
		return
	}
	end := Outcome{Node: node.Name, Config: node.Slot.Config}
	deadline := node.Slot.Given.Add(pool.SlotTimeout)
	switch {
	case node.Config == node.Slot.Config && !node.IsUpgrading:
	case node.Failure != "":
		end.Failure = node.Failure
	case pool.SlotTimeout > 0 && !now.Before(deadline):
		end.Failure = fmt.Sprintf("the upgrade did not end within %s", pool.SlotTimeout)
	default:
		if pool.SlotTimeout > 0 && (d.Recheck.IsZero() || deadline.Before(d.Recheck)) {
			d.Recheck = deadline
		}
		return
	}
	if end.Failure != "" {
		node.Failed = end.Config
	}
	node.Slot = nil
	d.Ends = append(d.Ends, end)
}

// candidatesOf returns the nodes that need a slot, the canaries first. Nodes that are unavailable already come before
// others, because their upgrade makes no other node unavailable.
func candidatesOf(pool Pool, nodes []Node) []Node {
	var candidates []Node
	for _, node := range nodes {
		if node.Config != pool.Config && node.Slot == nil && node.Failed != pool.Config {
			candidates = append(candidates, node)
		}
	}
	slices.SortStableFunc(candidates, func(a, b Node) int {
		return cmp.Or(compareBool(b.IsCanary, a.IsCanary), compareBool(a.IsAvailable, b.IsAvailable))
	})
	return candidates
}

// compareBool orders false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// reasonToWait returns why no node gets a slot now.
func reasonToWait(pool Pool, nodes []Node, now time.Time) string {
	if pool.Blocked != "" {
		return pool.Blocked
	}
	var failed []string
	for _, node := range nodes {
		if node.Failed != pool.Config {
			continue
		}
		if node.IsCanary {
			return "the upgrade of the canary " + node.Name + " failed"
		}
		failed = append(failed, node.Name)
	}
	if len(failed) > pool.MaxFailures {
		return fmt.Sprintf("failed upgrades: %d, first that of %s", len(failed), failed[0])
	}
	if !pool.Window.IsOpen(now) {
		return "the maintenance window opens at " + pool.Window.nextChange(now).UTC().Format(time.RFC3339)
	}
	return ""
}

// Unavailable returns the number of nodes that are unavailable or can become so.
func Unavailable(nodes []Node) int {
	count := 0
	for _, node := range nodes {
		if !node.IsAvailable || node.Slot != nil {
			count++
		}
	}
	return count
}
