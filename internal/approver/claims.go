package approver

import (
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ticket"
)

// Claims are those that an approver has, to be found by ticket and by node.
type Claims struct {
	byID   map[string]*ticket.Claim
	byNode map[string][]*ticket.Claim
}

// NewClaims gathers claims. A node can have several, as when it got a new ticket.
func NewClaims(list []*ticket.Claim) Claims {
	c := Claims{byID: map[string]*ticket.Claim{}, byNode: map[string][]*ticket.Claim{}}
	for _, claim := range list {
		c.byID[claim.ID] = claim
		c.byNode[claim.NodeName] = append(c.byNode[claim.NodeName], claim)
	}
	for _, of := range c.byNode { // the newest first
		slices.SortFunc(of, func(a, b *ticket.Claim) int { return b.Expires.Compare(a.Expires) })
	}
	return c
}

// Len is how many there are.
func (c Claims) Len() int { return len(c.byID) }
