// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/schema"
)

// Description describes one node by its objects. Other parties have written their texts: Print cleans them.
type Description struct {
	Name       string                   `json:"name" doc:"name of the node"`
	Enrollment *v1alpha1.NodeEnrollment `json:"enrollment,omitempty" doc:"NodeEnrollment; absent if it does not exist"`
	Invalid    string                   `json:"invalid,omitempty" doc:"why the NodeEnrollment admits no host; absent if it is valid"`
	Node       *corev1.Node             `json:"node,omitempty" doc:"Node, without its images; absent if it does not exist. Its agent reports in annotations, to which the node can write anything"`
	CSRs       []approver.CSRSummary    `json:"csrs" doc:"newest CSRs with the name, the credential or the join token of the node, sorted by time"`
	Events     []Event                  `json:"events" doc:"newest Events of the NodeEnrollment and of the Node, sorted by time"`
	Next       []report.Problem         `json:"next" doc:"what the node waits for, and the next commands"`
	Unreadable []string                 `json:"unreadable,omitempty" doc:"kinds of objects that the credential must not read"`

	slot *time.Time // since when the node may be upgraded, nil if that is unknown
}

// Phases returns all phases of a NodeEnrollment.
func Phases() []string { return schema.Strings(v1alpha1.Phases()...) }

// agent returns what the agent reports in an annotation of the Node, "" for nothing.
func (d *Description) agent(annotation string) string {
	if d.Node == nil {
		return ""
	}
	const limit = 256
	return Clean(d.Node.Annotations[annotation], limit)
}

// phase returns the phase of the NodeEnrollment, "" for none.
func (d *Description) phase() v1alpha1.Phase {
	if d.Enrollment == nil {
		return ""
	}
	return d.Enrollment.Status.Phase
}

// Event describes an Event.
type Event struct {
	Time    time.Time `json:"time" doc:"time of the last occurrence"`
	Type    string    `json:"type" doc:"type of the Event: Normal or Warning"`
	Object  string    `json:"object" doc:"kind of the object: NodeEnrollment or Node"`
	Name    string    `json:"name" doc:"name of the object"`
	Reason  string    `json:"reason" doc:"reason in one word"`
	Message string    `json:"message" doc:"message of the Event"`
	Count   int       `json:"count" doc:"number of occurrences"`
	Source  string    `json:"source,omitempty" doc:"component that has reported the Event"`
}
