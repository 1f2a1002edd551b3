// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
)

// Enrollments are enrollments by the name of their node.
type Enrollments map[string]*enrollment.Enrollment

// ReadEnrollments returns the valid enrollments among NodeEnrollments, the fingerprints of the keys with which their
// join tokens were used, by token ID, and why the others are invalid, by the name of the node.
func ReadEnrollments(objects []*v1alpha1.NodeEnrollment) (
	valid Enrollments, usedKeys map[string]string, invalid map[string]error,
) {
	valid, usedKeys, invalid = Enrollments{}, map[string]string{}, map[string]error{}
	for _, object := range objects {
		record, err := enrollment.FromObject(object)
		if err != nil {
			invalid[object.Name] = err
			continue
		}
		valid[object.Name] = record
		if object.Status.BoundKey != "" {
			usedKeys[record.ID] = object.Status.BoundKey
		}
	}
	return valid, usedKeys, invalid
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
