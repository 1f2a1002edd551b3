// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package controller

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/test/csrtest"
)

// join enrolls a node and gets its client CSR approved.
func (c *testController) join(node string, addresses ...string) {
	c.t.Helper()
	csr, _ := csrtest.SubmitWithToken(c.t, enroll(c.t, node, addresses...))
	c.awaitApproved(csr)
}

func servingCSR(t *testing.T, node string, addresses ...string) string {
	t.Helper()
	return csrtest.ServingRequest{Node: node, Addresses: addresses}.Submit(t)
}

// A node can write any address into its own Node object. This must not prevent another node, whose enrollment contains
// the address, from getting its serving certificate.
func TestControlPlaneNodeCannotBlockServingCSROfAnother(t *testing.T) {
	c := startController(t)
	c.join("blocked", "192.0.2.50")
	c.join("blocking", "192.0.2.66")
	csrtest.CreateNode(t, "blocking")
	// A patch, because controllers of the cluster change the new Node, too.
	const addresses = `{"status":{"addresses":[
		{"type":"InternalIP","address":"192.0.2.66"}, {"type":"InternalIP","address":"192.0.2.50"}]}}`
	_, err := csrtest.NodeClient(t, "blocking").CoreV1().Nodes().Patch(t.Context(), "blocking", types.MergePatchType,
		[]byte(addresses), metav1.PatchOptions{}, "status")
	if err != nil {
		t.Fatal(err)
	}
	c.awaitAddress("192.0.2.50")
	rightful, thief := servingCSR(t, "blocked", "192.0.2.50"), servingCSR(t, "blocking", "192.0.2.50")
	c.awaitApproved(rightful)
	const note = "Node blocking has the same address 192.0.2.50, which is in no enrollment of blocking"
	if last := c.last(rightful); last.Reason != note {
		t.Errorf("the decision is %+v", last)
	}
	c.awaitDecision(thief, approver.Refused, "it requests 192.0.2.50; the node has")
	checkPending(t, thief)
}

// Two enrolled nodes have the same address. The second one gets its serving certificate when the first one has left.
func TestControlPlaneAddressConflict(t *testing.T) {
	c := startController(t)
	c.join("holder", "192.0.2.51", "2001:db8:51::1")
	c.join("successor", "192.0.2.51", "2001:db8:51::1")
	csrtest.CreateNode(t, "holder", "192.0.2.51", "2001:DB8:51:0::1") // an address can be written in several ways
	c.awaitAddress("192.0.2.51")
	csrs := []string{servingCSR(t, "successor", "192.0.2.51"), servingCSR(t, "successor", "2001:db8:51::1")}
	for _, csr := range csrs {
		c.awaitDecision(csr, approver.Refused, "belongs to Node holder and is in the enrollment of holder")
		checkPending(t, csr)
	}
	csrtest.DeleteNode(t, "holder")
	for _, csr := range csrs {
		c.awaitApproved(csr)
	}
}

// A node whose enrollment contains the address beats nodes whose enrollments contain a network with it.
func TestControlPlaneExactAddressBeatsNetwork(t *testing.T) {
	c := startController(t)
	c.join("exact", "192.0.2.130")
	c.join("network", "192.0.2.128/25")
	csrtest.CreateNode(t, "network", "192.0.2.130")
	c.awaitAddress("192.0.2.130")
	c.awaitApproved(servingCSR(t, "exact", "192.0.2.130"))

	csrtest.CreateNode(t, "exact", "192.0.2.131")
	c.awaitApproved(servingCSR(t, "network", "192.0.2.140"))
	c.join("exact-too", "192.0.2.150")
	csrtest.CreateNode(t, "exact-too", "192.0.2.150")
	c.awaitAddress("192.0.2.150")
	c.awaitDecision(servingCSR(t, "network", "192.0.2.150"), approver.Refused, "belongs to Node exact-too")
}

// A reinstalled host replaces its Node only if its enrollment permits this, and never while the Node is Ready.
func TestControlPlaneReinstall(t *testing.T) {
	c := startController(t)
	submit := func(node string, policy string, ready corev1.ConditionStatus) string {
		csrtest.CreateNode(t, node)
		setReady(t, node, ready, "", "")
		token, object := newEnrollment(t, node, csrtest.ClusterCA(t))
		object.Spec.Reinstall = reinstallPolicy(policy)
		create(t, object)
		csr, _ := csrtest.SubmitWithToken(t, token)
		return csr
	}
	refused := submit("reinstall-refuse", "Refuse", corev1.ConditionUnknown)
	allowed := submit("reinstall-allow", "Allow", corev1.ConditionUnknown)
	ready := submit("reinstall-ready", "Allow", corev1.ConditionTrue)
	c.awaitApproved(allowed)
	c.awaitDecision(refused, approver.Refused, "Node reinstall-refuse already exists in the cluster")
	c.awaitDecision(ready, approver.Refused, "Node reinstall-ready is Ready, so its machine was not reinstalled")
	checkPending(t, refused)
	checkPending(t, ready)

	setReady(t, "reinstall-ready", corev1.ConditionUnknown, "NodeStatusUnknown", "Kubelet stopped posting node status.")
	c.awaitApproved(ready)
	change(t, getEnrollment(t, "reinstall-refuse"), func(object *v1alpha1.NodeEnrollment) {
		object.Spec.Reinstall = reinstallPolicy("Allow")
	})
	c.awaitApproved(refused)
	if all := c.errors(); len(all) > 0 || strings.Contains(c.last(refused).Reason, "exists") {
		t.Errorf("logged: %+v", all)
	}
}
