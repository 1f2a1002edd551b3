// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/hcp-node-agent/hcp-node-agent/internal/node/servicelog"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// eventComponent is the source of the Events.
const eventComponent = "hcp-node-agent"

// Event is something that happened to this host's Node.
type Event struct {
	Warning         bool
	Reason, Message string
	Time            time.Time
}

// RecordEvent creates an Event about this host's Node, which "oc describe node"
// shows. A node may create Events but not read them. The cluster deletes them
// after some hours.
func (n *Node) RecordEvent(ctx context.Context, of Event) error {
	at := metav1.NewTime(of.Time)
	event := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{GenerateName: n.Name + ".", Namespace: metav1.NamespaceDefault},
		// The UID is the name, as in kubelet's own Events: kubelet writes them before
		// its Node exists (nodeRef in k8s.io/kubernetes/pkg/kubelet).
		InvolvedObject:      corev1.ObjectReference{Kind: "Node", Name: n.Name, UID: types.UID(n.Name)},
		Type:                corev1.EventTypeNormal,
		Reason:              of.Reason,
		Message:             servicelog.Shorten(of.Message, maxEventRunes-1),
		Source:              corev1.EventSource{Component: eventComponent, Host: n.Name},
		FirstTimestamp:      at,
		LastTimestamp:       at,
		Count:               1,
		ReportingController: eventComponent,
		ReportingInstance:   n.Name,
	}
	if of.Warning {
		event.Type = corev1.EventTypeWarning
	}
	events := n.Conn.Client.Events(event.Namespace)
	_, err := events.Create(ctx, event, metav1.CreateOptions{})
	if utilnet.IsHTTP2ConnectionLost(err) { // for example because the host has another address
		_, err = events.Create(ctx, event, metav1.CreateOptions{})
	}
	if err != nil {
		problem := n.Conn.Explain(ctx, err)
		return report.Fail(report.Failed, problem.Remedy, "recording an Event for Node %s: %w", n.Name, problem)
	}
	return nil
}

// maxEventRunes is the maximum message length in runes. The API server limits it
// in bytes, and a rune has at most four.
const maxEventRunes = 1024 / 4
