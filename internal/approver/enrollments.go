// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
)

// Enrollments are enrollments by the name of their node.
type Enrollments map[string]*enrollment.Enrollment

// ReadEnrollments returns the valid enrollments among NodeEnrollments, and why the others are invalid, by the name of
// the node. It sets with which keys, and when, their join tokens were used.
func (f *Facts) ReadEnrollments(objects []*v1alpha1.NodeEnrollment) (valid Enrollments, invalid map[string]error) {
	valid, invalid = Enrollments{}, map[string]error{}
	f.UsedKeys, f.UsedAt = map[string]string{}, map[string]time.Time{}
	for _, object := range objects {
		record, err := enrollment.FromObject(object)
		if err != nil {
			invalid[object.Name] = err
			continue
		}
		valid[object.Name] = record
		if used := object.Spec.UsedBy; used != nil {
			f.UsedKeys[record.ID], f.UsedAt[record.ID] = used.Key, used.At.Time
		}
	}
	return valid, invalid
}

// ofToken returns the enrollment of a join token, nil if there is none.
func (e Enrollments) ofToken(id string) *enrollment.Enrollment {
	for _, record := range e {
		if record.ID == id {
			return record
		}
	}
	return nil
}
