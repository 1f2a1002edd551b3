// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
)

// Enrollments are enrollments, indexed by token ID and by node name.
type Enrollments struct {
	byID   map[string]*enrollment.Enrollment
	byNode map[string][]*enrollment.Enrollment
}

// NewEnrollments indexes enrollments. A node can have several, for example after a new join token was
// created.
func NewEnrollments(list []*enrollment.Enrollment) Enrollments {
	c := Enrollments{byID: map[string]*enrollment.Enrollment{}, byNode: map[string][]*enrollment.Enrollment{}}
	for _, record := range list {
		c.byID[record.ID] = record
		c.byNode[record.NodeName] = append(c.byNode[record.NodeName], record)
	}
	for _, of := range c.byNode { // newest first
		slices.SortFunc(of, func(a, b *enrollment.Enrollment) int { return b.Expires.Compare(a.Expires) })
	}
	return c
}
