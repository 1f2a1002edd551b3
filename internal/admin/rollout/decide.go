// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
)

// Node is the state of one node of the pool.
type Node struct {
	Name        string
	Config      string // that the node reports
	IsAvailable bool   // the Node is Ready and not cordoned
	IsUpgrading bool   // the node reports that its upgrade is in progress
	Blocked     string // why the node reports that its upgrade cannot begin, "" if it does not
	IsCanary    bool   // upgraded before the others
	HasLeft     bool   // no longer in the pool; it has a slot
	Slot        *Slot  // nil if it has none
	Reached     string // configuration that it had before and that is recorded, "" for none
	Failed      string // configuration to which its last upgrade failed, "" for none
	Failure     string // why the node reports that its upgrade to the configuration of its slot failed, "" if it does not
}

// Slot permits a node to upgrade to a configuration.
type Slot struct {
	Config    string
	Given     time.Time // by the clock of the controller
	Delivered bool      // to the Node; before that, it cannot end
	Revoked   bool      // a replica has taken it from the Node, to end it
	Ended     bool      // an administrator counts the upgrade as failed
}

// Outcome is the end of a slot, or the failure of a node without one that no longer has the pool's configuration.
type Outcome struct {
	Node      string
	Config    string
	Failure   string // "" if the node was upgraded
	Withdrawn string // why the slot was withdrawn before the upgrade began, "" if it was not
}

// Decision contains the changes of a rollout.
type Decision struct {
	Ended   []Outcome // slots that have ended, and failures without a slot
	Grants  []string  // nodes that get a slot for the configuration of the pool
	Waiting string    // why nodes that are not up to date get no slot, "" if none waits
	Recheck time.Time // when the decision can change although nothing else does; zero for never
}

// Decide decides which slots end and which nodes get one. A node that is unavailable gets none, as in the
// machine-config-operator: it cannot begin, or a person works on it. Decide never retries a node whose upgrade failed:
// an administrator demands it. A node that had the configuration of the pool and reports another one has failed,
// too: it was rolled back, or reports what is not true, and would get one slot after the other.
func Decide(pool Pool, nodes []Node, now time.Time) Decision {
	var d Decision
	nodes = slices.Clone(nodes)
	slices.SortFunc(nodes, func(a, b Node) int { return cmp.Compare(a.Name, b.Name) })
	for i := range nodes {
		d.endSlot(pool, &nodes[i], now)
		d.failReverted(pool, &nodes[i])
	}
	limit, err := pool.maxUnavailable(nodes)
	reason := reasonToWait(pool, nodes, now)
	if reason == "" && err != nil {
		reason = err.Error()
	}
	free := limit - Unavailable(nodes)
	for i := range nodes {
		free += d.withdraw(pool, &nodes[i], reason, free)
	}
	if pool.Config == "" {
		d.Waiting = pool.Blocked
		return d
	}
	if slices.ContainsFunc(nodes, pool.needsUpgrade) {
		d.recheckAt(pool.Window.NextChange(now))
	}
	candidates := candidatesOf(pool, nodes)
	if reason != "" && len(candidates) > 0 {
		d.Waiting = reason
		return d
	}
	onlyCanaries := slices.ContainsFunc(nodes, func(node Node) bool {
		return node.IsCanary && (node.Config != pool.Config || !node.IsAvailable)
	})
	for _, node := range candidates {
		switch {
		case onlyCanaries && !node.IsCanary:
			d.Waiting = cmp.Or(d.Waiting, "the canary nodes are upgraded first")
			return d
		case free < 0:
			d.Waiting = fmt.Sprintf("%d of the nodes are unavailable, at most %d may be", limit-free, limit)
			return d
		case free == 0:
			d.Waiting = fmt.Sprintf("at most %d of the nodes may be unavailable", limit)
			return d
		case node.Reached == pool.Config:
			d.Waiting = "node " + node.Name + " does not report its configuration"
		case node.Blocked != "":
			d.Waiting = node.Name + ": " + node.Blocked
		case !node.IsAvailable:
			d.Waiting = "node " + node.Name + " is unavailable"
		default:
			d.Grants = append(d.Grants, node.Name)
			free--
		}
	}
	return d
}

// recheckAt demands another decision at a time, unless it is zero.
func (d *Decision) recheckAt(t time.Time) {
	if !t.IsZero() && (d.Recheck.IsZero() || t.Before(d.Recheck)) {
		d.Recheck = t
	}
}

// withdraw ends the slot of a node that has not begun if the node would not get one now: for a reason to wait, or
// because too many nodes are unavailable, which a negative free means. It returns by how much free grows.
func (d *Decision) withdraw(pool Pool, node *Node, reason string, free int) int {
	slot := node.Slot
	if slot == nil || !slot.Delivered || node.IsUpgrading {
		return 0
	}
	switch {
	case reason != "":
	case node.HasLeft:
		reason = "the node has left the NodePool"
	case slot.Config != pool.Config:
		reason = "the NodePool has another configuration"
	case free < 0:
		reason = "too many nodes are unavailable"
	case node.Blocked != "":
		reason = node.Blocked
	case slot.Revoked:
		reason = "the node has not begun"
	default:
		return 0
	}
	node.Slot = nil
	d.Ended = append(d.Ended, Outcome{Node: node.Name, Config: slot.Config, Withdrawn: reason})
	if node.IsAvailable {
		return 1
	}
	return 0
}

// endSlot ends the slot of a node if its upgrade has ended, or lasts too long.
func (d *Decision) endSlot(pool Pool, node *Node, now time.Time) {
	if node.Slot == nil || !node.Slot.Delivered { // another replica can deliver it at any time
		return
	}
	end := Outcome{Node: node.Name, Config: node.Slot.Config}
	deadline := node.Slot.Given.Add(pool.SlotTimeout)
	switch {
	case node.Config == node.Slot.Config && !node.IsUpgrading:
	case node.Slot.Ended:
		end.Failure = "its slot was ended by an administrator"
	case node.Failure != "":
		end.Failure = node.Failure
	case pool.SlotTimeout > 0 && !now.Before(deadline):
		end.Failure = fmt.Sprintf("the upgrade did not end within %s", pool.SlotTimeout)
	default:
		if pool.SlotTimeout > 0 {
			d.recheckAt(deadline)
		}
		return
	}
	if end.Failure != "" {
		node.Failed = end.Config
	}
	node.Slot = nil
	d.Ended = append(d.Ended, end)
}

// failReverted counts a node as failed that reports another configuration than the one of the pool that it had. A Node
// that was created again has no report at first.
func (d *Decision) failReverted(pool Pool, node *Node) {
	if node.Reached == "" || node.Reached != pool.Config || node.Config == "" || node.Slot != nil || node.IsUpgrading ||
		!pool.needsUpgrade(*node) {
		return
	}
	node.Failed = pool.Config
	d.Ended = append(d.Ended, Outcome{
		Node: node.Name, Config: pool.Config,
		Failure: "the node had the configuration, and now reports configuration " + node.Config + ": it was rolled back",
	})
}

// candidatesOf returns the nodes that need a slot, the canaries first.
func candidatesOf(pool Pool, nodes []Node) []Node {
	var canaries, others []Node
	for _, node := range nodes {
		switch {
		case node.Slot != nil || node.IsUpgrading || !pool.needsUpgrade(node):
		case node.IsCanary:
			canaries = append(canaries, node)
		default:
			others = append(others, node)
		}
	}
	return append(canaries, others...)
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
		return "the maintenance window opens at " + pool.Window.NextChange(now).UTC().Format(time.RFC3339)
	}
	return ""
}

// Unavailable returns the number of nodes that are unavailable or can become so.
func Unavailable(nodes []Node) int {
	return lists.Count(nodes, func(node Node) bool { return !node.IsAvailable || node.IsUpgrading || node.Slot != nil })
}
