// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package controller

import (
	"context"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/lostnodes"
	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/test/csrtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// setLost adds nodes to the list of lost nodes until the test ends.
func setLost(t *testing.T, nodes ...string) {
	t.Helper()
	if err := lostnodes.Add(t.Context(), adminClient(t), nodes, "removed by a test"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := lostnodes.Remove(context.Background(), adminClient(t), nodes); err != nil {
			t.Error(err)
		}
	})
}

// hasLostTaint reports whether a Node has the taint of lost nodes.
func hasLostTaint(t *testing.T, name string) bool {
	t.Helper()
	node := &corev1.Node{}
	if err := adminClient(t).Get(t.Context(), client.ObjectKey{Name: name}, node); err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
		return taint.Key == lostnodes.Taint && taint.Effect == corev1.TaintEffectNoExecute
	})
}

// No CSR of a lost node is approved, also with a NodeEnrollment that was created again. When the node is found, it is.
func TestControlPlaneLostNodeIsNotApproved(t *testing.T) {
	c := startController(t)
	setLost(t, "lost-csr")
	unknown, _ := csrtest.SubmitWithToken(t, enroll(t, "lost-other"))
	c.awaitApproved(unknown)
	csr, _ := csrtest.SubmitWithToken(t, enroll(t, "lost-csr"))
	last := c.awaitDecision(csr, approver.Refused, "node lost-csr was removed as lost")
	if last.Remedy != "hcp-node-admin found lost-csr # if you control the host again" {
		t.Errorf("the remedy is %q", last.Remedy)
	}
	checkPending(t, csr)
	if _, err := lostnodes.Remove(t.Context(), adminClient(t), []string{"lost-csr"}); err != nil {
		t.Fatal(err)
	}
	c.awaitApproved(csr)
}

// A Node that exists although it is lost is tainted, also before the controller starts. The taint ends with the loss.
func TestControlPlaneLostNodeIsTainted(t *testing.T) {
	csrtest.CreateNode(t, "lost-before")
	setLost(t, "lost-before", "lost-after", "lost-later")
	c := startController(t)
	csrtest.CreateNode(t, "lost-after")
	csrtest.CreateNode(t, "lost-never")
	for _, name := range []string{"lost-before", "lost-after"} {
		waittest.UntilTrue(t, "the taint of "+name, func() bool { return hasLostTaint(t, name) })
	}
	if hasLostTaint(t, "lost-never") {
		t.Error("a Node that is not lost is tainted")
	}
	if _, err := lostnodes.Remove(t.Context(), adminClient(t), []string{"lost-before"}); err != nil {
		t.Fatal(err)
	}
	waittest.UntilTrue(t, "the end of the taint", func() bool { return !hasLostTaint(t, "lost-before") })
	if !hasLostTaint(t, "lost-after") {
		t.Error("the taint of another Node has ended")
	}
	for _, entry := range c.errors() { // the entries of this controller contain an object as node
		if !strings.HasPrefix(entry.Error, "unreadable: ") || strings.Contains(entry.Error, `"error":`) {
			t.Errorf("logged: %+v", entry)
		}
	}
}
