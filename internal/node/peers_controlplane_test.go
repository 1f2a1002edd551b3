// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package node

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The addresses of other nodes come from the tunnels of Open vSwitch, because a node may read only its own Node.
func TestControlPlaneOtherNodesAreForbidden(t *testing.T) {
	node, _ := joinedNode(t, "curious")
	joinedNode(t, "neighbor")
	if _, err := node.Conn.Client.Nodes().List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("listing Nodes: %v, want that it is forbidden", err)
	}
	if _, err := node.Conn.Client.Nodes().Get(t.Context(), "neighbor"); !apierrors.IsForbidden(err) {
		t.Errorf("getting another Node: %v, want that it is forbidden", err)
	}
	if _, err := node.Conn.Client.Nodes().Get(t.Context(), "curious"); !apierrors.IsNotFound(err) { // kubelet registers it
		t.Errorf("getting its own Node: %v, want that it is permitted", err)
	}
}
