package approver

import (
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ticket"
)

// Claims are the enrollments of an approver, indexed by token ID and by node name.
type Claims struct {
	byID   map[string]*ticket.Claim
	byNode map[string][]*ticket.Claim
}

// NewClaims indexes enrollments. A node can have several, for example after a new join token was
// created.
func NewClaims(list []*ticket.Claim) Claims {
	c := Claims{byID: map[string]*ticket.Claim{}, byNode: map[string][]*ticket.Claim{}}
	for _, claim := range list {
		c.byID[claim.ID] = claim
		c.byNode[claim.NodeName] = append(c.byNode[claim.NodeName], claim)
	}
	for _, of := range c.byNode { // newest first
		slices.SortFunc(of, func(a, b *ticket.Claim) int { return b.Expires.Compare(a.Expires) })
	}
	return c
}

// Len returns the number of enrollments.
func (c Claims) Len() int { return len(c.byID) }
