package approver

import (
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ticket"
)

// Enrollments are the enrollments of an approver, indexed by token ID and by node name.
type Enrollments struct {
	byID   map[string]*ticket.Enrollment
	byNode map[string][]*ticket.Enrollment
}

// NewEnrollments indexes enrollments. A node can have several, for example after a new join token was
// created.
func NewEnrollments(list []*ticket.Enrollment) Enrollments {
	c := Enrollments{byID: map[string]*ticket.Enrollment{}, byNode: map[string][]*ticket.Enrollment{}}
	for _, claim := range list {
		c.byID[claim.ID] = claim
		c.byNode[claim.NodeName] = append(c.byNode[claim.NodeName], claim)
	}
	for _, of := range c.byNode { // newest first
		slices.SortFunc(of, func(a, b *ticket.Enrollment) int { return b.Expires.Compare(a.Expires) })
	}
	return c
}

// Len returns the number of enrollments.
func (c Enrollments) Len() int { return len(c.byID) }
