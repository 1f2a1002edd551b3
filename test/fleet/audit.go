// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
)

// observation is the state of one object at one revision of the cluster. Only one of the pointers is set.
type observation struct {
	revision uint64 // of etcd, so that it orders the changes of all kinds
	name     string
	node     *nodeState
	slots    map[string]slotState // of the NodeRollout, by node; nil for other objects
	csr      *csrState
}

// nodeState is the state of a Node.
type nodeState struct {
	isAvailable bool
	isUpgrading bool
	slot        string // ID of the permission to upgrade, "" for none
}

// slotState is a slot of a NodeRollout.
type slotState struct{ id, config string }

// csrState is the state of a CSR.
type csrState struct {
	node, signer string
	approval     string // time of the approval, "" if it is not approved
	isDecided    bool   // it has a condition or a certificate
}

// audit checks that a history of the cluster breaks no rule.
type audit struct {
	limit   int    // nodes that may be unavailable
	config  string // of the rollout
	hostile sets.Set[string]
	own     map[string]string // names of the CSRs of the nodes, by "node signer"
	cut     sets.Set[string]  // nodes that were unavailable for another reason than the rollout

	nodes       map[string]nodeState
	slots       map[string]slotState
	used        map[string]sets.Set[string] // IDs of the slots with which nodes were upgraded, by node
	approvals   map[string]string           // times of approvals, by CSR
	hasRollout  bool
	unavailable int // the most
	violations  map[string][]string
}

// check returns the rules that a history breaks, each with the first violation.
func (a *audit) check(history []observation) []string {
	a.nodes, a.slots = map[string]nodeState{}, map[string]slotState{}
	a.used, a.approvals, a.violations = map[string]sets.Set[string]{}, map[string]string{}, map[string][]string{}
	slices.SortFunc(history, func(x, y observation) int { return cmp.Compare(x.revision, y.revision) })
	for _, one := range history {
		switch {
		case one.csr != nil:
			a.applyCSR(one)
		case one.node != nil:
			a.applyUpgrade(one)
			a.nodes[one.name] = *one.node
			a.checkRollout(one)
		case one.slots != nil:
			a.hasRollout, a.slots = true, one.slots
			a.checkRollout(one)
		}
	}
	var texts []string
	for rule, found := range a.violations {
		texts = append(texts, fmt.Sprintf("%s: %d times, first: %s", rule, len(found), found[0]))
	}
	slices.Sort(texts)
	return texts
}

func (a *audit) violate(rule string, at observation, format string, args ...any) {
	text := fmt.Sprintf("revision %d (%s): ", at.revision, at.name) + fmt.Sprintf(format, args...)
	a.violations[rule] = append(a.violations[rule], text)
}

// applyCSR checks that a CSR is approved at most once, and only if it is the node's own.
func (a *audit) applyCSR(at observation) {
	csr := at.csr
	switch before := a.approvals[at.name]; {
	case a.hostile.Has(at.name) && csr.isDecided:
		a.violate("a CSR of a thief is decided", at, "for node %s", csr.node)
	case csr.approval == "" || a.hostile.Has(at.name):
		return
	case before != "" && before != csr.approval:
		a.violate("a CSR is approved twice", at, "at %s and at %s", before, csr.approval)
	case a.own[csr.node+" "+csr.signer] != at.name:
		a.violate("a foreign CSR is approved", at, "for node %s by %s; the node has %q", csr.node, csr.signer,
			a.own[csr.node+" "+csr.signer])
	}
	a.approvals[at.name] = csr.approval
}

// checkRollout checks the nodes and the slots after a change.
func (a *audit) checkRollout(at observation) {
	if !a.hasRollout {
		return
	}
	count := 0
	for name, node := range a.nodes {
		slot, hasSlot := a.slots[name]
		if hasSlot || node.isUpgrading || !node.isAvailable && !a.cut.Has(name) {
			count++
		}
		if node.slot != "" && node.slot != slot.id {
			a.violate("a permission is not a slot", at, "node %s has %s, the NodeRollout %q", name, node.slot, slot.id)
		}
	}
	a.unavailable = max(a.unavailable, count)
	if count > a.limit {
		a.violate("too many nodes are unavailable or have a slot", at, "%d, allowed are %d", count, a.limit)
	}
	if at.slots == nil {
		return
	}
	for name, slot := range a.slots {
		if slot.config != a.config {
			a.violate("a slot is for another configuration", at, "node %s: %s", name, slot.config)
		}
	}
}

// applyUpgrade checks that a node upgrades at most once, and with a slot.
func (a *audit) applyUpgrade(at observation) {
	if !at.node.isUpgrading || a.nodes[at.name].isUpgrading {
		return
	}
	slot := a.slots[at.name]
	if slot.id == "" {
		a.violate("a node upgrades without a slot", at, "")
	}
	if a.used[at.name] == nil {
		a.used[at.name] = sets.New[string]()
	}
	if a.used[at.name].Insert(slot.id); a.used[at.name].Len() > 1 {
		a.violate("a node upgrades twice", at, "with the slots %s", strings.Join(sets.List(a.used[at.name]), " and "))
	}
}
