// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"fmt"
	"net/netip"
)

// addressConflict is an address of a CSR that the Node of another host also has.
type addressConflict struct {
	address netip.Addr
	node    string // "" if no other Node has one of the addresses
	// isEnrolled reports whether a usable enrollment of that Node contains the address, in no larger network than that
	// of the CSR's node.
	isEnrolled bool
}

// String describes the conflict, or returns "" when there is none.
func (c addressConflict) String() string {
	switch {
	case c.node == "":
		return ""
	case c.isEnrolled:
		return fmt.Sprintf("the address %s belongs to Node %s and is in the enrollment of %s", c.address, c.node, c.node)
	}
	return fmt.Sprintf("Node %s has the same address %s, which is in no enrollment of %s", c.node, c.address, c.node)
}

// conflict returns the most severe conflict between the CSR's addresses and the Nodes other than
// name. A node writes the addresses of its own Node, so an address counts as that node's only if
// a usable enrollment of the node contains it, in a network that is not larger than in the enrollment of
// name. Otherwise any node could block the serving certificate of any other.
func (c Content) conflict(name string, enrollments Enrollments, facts Facts) addressConflict {
	var found addressConflict
	for _, address := range c.Addresses {
		for _, owner := range facts.NodesByAddress[address] {
			if owner == name {
				continue
			}
			bits := enrollments.bitsOf(owner, address, facts)
			found = addressConflict{
				address: address, node: owner, isEnrolled: bits > 0 && bits >= enrollments.bitsOf(name, address, facts),
			}
			if found.isEnrolled {
				return found
			}
		}
	}
	return found
}

// bitsOf returns the length of the longest prefix with an address in the enrollment of a node, 0 if it has no such
// prefix or is not usable. An enrollment is usable if it is for this cluster and was used by the node or has not
// expired.
func (e Enrollments) bitsOf(node string, address netip.Addr, facts Facts) int {
	record := e[node]
	if record == nil || record.CheckCluster(facts.CAHashes) != nil ||
		(facts.UsedKeys[record.ID] == "" && record.CheckExpiry(facts.Now) != nil) {
		return 0
	}
	return bitsOf(address, record.Addresses)
}
