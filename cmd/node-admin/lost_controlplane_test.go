// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package main

import (
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/clitest"
	"github.com/hcp-node-agent/hcp-node-agent/test/csrtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

func (h *hostedCluster) testLost(t *testing.T) {
	h.createNamespace(t)
	h.checkLostWithoutRights(t) // first: nothing exists yet
	t.Run("stolen", h.checkStolen)
	t.Run("permissions", h.checkLostPermissions)
}

// lostNames returns the names in the list of lost nodes.
func (h *hostedCluster) lostNames(t *testing.T) string {
	t.Helper()
	list, err := h.admin.CoreV1().ConfigMaps(v1alpha1.Namespace).Get(t.Context(), "lost-nodes", metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return strings.Join(slices.Sorted(maps.Keys(list.Data)), " ")
}

// podsOf returns the names of the pods that are bound to a node.
func (h *hostedCluster) podsOf(t *testing.T, node string) []string {
	t.Helper()
	list, err := h.admin.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{FieldSelector: "spec.nodeName=" + node})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names
}

// Without the right to create policies, nothing is changed.
func (h *hostedCluster) checkLostWithoutRights(t *testing.T) {
	t.Helper()
	h.join(t, "lost-refused")
	var granted []permission
	for _, p := range removeLostPermissions() {
		if !strings.HasPrefix(p.resource, "validatingadmissionpolicies.") {
			granted = append(granted, p)
		}
	}
	h.grant(t, "lost-limited", granted)
	kubeconfig := h.credential(t, "lost-limited")
	const missing = ": get validatingadmissionpolicies.admissionregistration.k8s.io, create " +
		"validatingadmissionpolicies.admissionregistration.k8s.io, patch " +
		"validatingadmissionpolicies.admissionregistration.k8s.io\n"
	var got clitest.Result
	waittest.Until(t, "waiting for the other permissions", func() (any, bool) {
		got = runCommandLine(t, "remove", "--lost", "lost-refused", "--kubeconfig", kubeconfig)
		return got, strings.Contains(got.Err, missing)
	})
	policies, err := h.admin.AdmissionregistrationV1().ValidatingAdmissionPolicies().List(t.Context(),
		metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got.Code != report.CredentialRefused || got.Out != "" || h.remains(t, "lost-refused") != allKinds ||
		h.lostNames(t) != "" || len(policies.Items) != 0 {
		t.Errorf("%+v; remain %s, lost %q, %d policies", got, h.remains(t, "lost-refused"), h.lostNames(t),
			len(policies.Items))
	}
}

// A host that is removed as lost writes nothing more, and reads no Secret of a pod. Its neighbor is not disturbed.
func (h *hostedCluster) checkStolen(t *testing.T) {
	h.join(t, "stolen")
	h.join(t, "neighbor")
	h.setReady(t, "stolen", corev1.ConditionTrue)
	pod, other := h.createPod(t, "stolen", "stolen-pod"), h.createPod(t, "neighbor", "neighbor-pod")
	h.checkWrites(t, "stolen", pod, false)
	h.checkWrites(t, "neighbor", other, false)
	node := h.nodeClient(t, "stolen")
	if err := getSecret(node, "stolen-pod"); err != nil {
		t.Errorf("the Secret of its pod: %v", err)
	}
	h.grant(t, "system:ovn-node:stolen", []permission{{verbs: "create", resource: "events"}})
	plugin := h.clientOf(t, "system:ovn-node:stolen", "system:ovn-nodes")
	waittest.Until(t, "waiting until the network plugin may create Events", func() (any, bool) {
		err := createEvent(t.Context(), plugin)
		return err, err == nil
	})

	got := h.exec(t, "remove", "--lost", "stolen")
	const want = "writes of stolen refused\nNodeEnrollment of stolen deleted\nServiceAccount of stolen deleted\n" +
		"Node of stolen deleted\nPod of stolen deleted\n"
	if got.Code != report.Success || !strings.HasSuffix(got.Out, want) || h.remains(t, "stolen") != "" ||
		len(h.podsOf(t, "stolen")) > 0 || h.lostNames(t) != "stolen" ||
		!strings.Contains(got.Out+got.Err, "until each API server of the hosted cluster has loaded the policy") {
		t.Errorf("%+v; remain %s, pods %q", got, h.remains(t, "stolen"), h.podsOf(t, "stolen"))
	}
	waittest.Until(t, "waiting until the Secret of its former pod is forbidden", func() (any, bool) {
		err := getSecret(node, "stolen-pod")
		return err, apierrors.IsForbidden(err)
	})
	if err := createEvent(t.Context(), plugin); !isPolicyRefusal(err, "stolen") {
		t.Errorf("the network plugin creates an Event: %v", err)
	}
	_, err := node.CoreV1().Nodes().Create(t.Context(),
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "stolen"}}, metav1.CreateOptions{})
	if !isPolicyRefusal(err, "stolen") {
		t.Errorf("it creates its Node: %v", err)
	}
	h.checkReads(t)
	h.checkWrites(t, "neighbor", other, false)
	if err := getSecret(h.nodeClient(t, "neighbor"), "neighbor-pod"); err != nil {
		t.Errorf("the neighbor reads the Secret of its pod: %v", err)
	}
	if out := h.exec(t, "nodes").Err; !strings.Contains(out, "1 node was removed as lost, and is refused: stolen\n") {
		t.Errorf("nodes prints %s", out)
	}

	// Another user creates the Node, and a pod on it.
	csrtest.CreateNode(t, "stolen")
	h.checkWrites(t, "stolen", h.createPod(t, "stolen", "stolen-again"), true)
	again := h.exec(t, "remove", "--lost", "stolen", "stolen", "-o", "json")
	if wrong := admin().ValidateDocuments(t, again.Out); wrong != "" || again.Code != report.Success ||
		!strings.Contains(again.Out, `"pods": 1`) || h.remains(t, "stolen") != "" || h.lostNames(t) != "stolen" {
		t.Errorf("%s%+v", wrong, again)
	}
	none := h.exec(t, "remove", "--lost", "stolen")
	if none.Code != report.Success ||
		!strings.HasSuffix(none.Out, "writes of stolen refused\nnothing exists of stolen\n") {
		t.Errorf("repeated: %+v", none)
	}
	h.checkFound(t)
}

// checkReads checks what docs/security.md states about the reads of a lost host.
func (h *hostedCluster) checkReads(t *testing.T) {
	t.Helper()
	rest := h.nodeClient(t, "stolen").Discovery().RESTClient()
	for path, isPermitted := range map[string]bool{
		"/api/v1/services": true,
		"/apis/certificates.k8s.io/v1/certificatesigningrequests": true,
		"/apis/storage.k8s.io/v1/csidrivers":                      true,
		"/apis/node.k8s.io/v1/runtimeclasses":                     true,
		"/api/v1/namespaces/default/endpoints/kubernetes":         true,
		"/api/v1/nodes/neighbor":                                  false,
		"/api/v1/nodes":                                           false,
		"/api/v1/pods":                                            false,
		"/api/v1/pods?fieldSelector=spec.nodeName=stolen":         true, // none exists
		"/api/v1/namespaces/default/pods/neighbor-pod":            false,
		"/api/v1/secrets":                                         false,
		"/api/v1/namespaces/default/secrets/neighbor-pod":         false,
		"/api/v1/configmaps":                                      false,
		"/api/v1/namespaces/hcp-node-admin/configmaps/lost-nodes": false,
		enrollmentsPath:                                           false,
	} {
		err := rest.Get().RequestURI(path).Do(t.Context()).Error()
		if apierrors.IsForbidden(err) == isPermitted || client.IgnoreNotFound(err) != nil && isPermitted {
			t.Errorf("a lost host reads %s: %v", path, err)
		}
	}
}

// checkFound ends the exclusion of a lost node.
func (h *hostedCluster) checkFound(t *testing.T) {
	t.Helper()
	got := h.exec(t, "found", "stolen", "neighbor")
	const want = "stolen is no longer lost: its former certificates are usable until they expire\nneighbor was not lost\n"
	if got.Code != report.Success || got.Out != want || h.lostNames(t) != "" {
		t.Errorf("%+v", got)
	}
	out := h.exec(t, "found", "stolen", "-o", "json").Out
	if wrong := admin().ValidateDocuments(t, out); wrong != "" || !strings.Contains(out, `"wasLost": false`) {
		t.Errorf("%s%s", wrong, out)
	}
	csrtest.CreateNode(t, "stolen")
	pod := h.createPod(t, "stolen", "stolen-found")
	waittest.Until(t, "waiting until the host may write again", func() (any, bool) {
		err := nodeWrites(t, h.nodeClient(t, "stolen"), "stolen", pod)["its Lease"]()
		return err, err == nil
	})
	h.checkWrites(t, "stolen", pod, false)
}

// The documented permissions suffice. Without that to impersonate, the command waits instead of verifying the policy.
func (h *hostedCluster) checkLostPermissions(t *testing.T) {
	h.join(t, "lost-permitted")
	h.grant(t, "lost-remover", removeLostPermissions())
	kubeconfig := h.credential(t, "lost-remover")
	var got clitest.Result
	waittest.Until(t, "waiting for the permissions", func() (any, bool) {
		got = runCommandLine(t, "remove", "--lost", "lost-permitted", "--kubeconfig", kubeconfig)
		return got, got.Code == report.Success
	})
	if !strings.Contains(got.Out+got.Err, "the credential must not impersonate node lost-permitted, so that it is not "+
		"verified that the API server refuses its writes") || h.remains(t, "lost-permitted") != "" {
		t.Errorf("%+v", got)
	}
	h.grant(t, "lost-finder", foundPermissions())
	h.await(t, "lost-finder", "found", "lost-permitted")
	if names := h.lostNames(t); names != "" {
		t.Errorf("lost are %q", names)
	}
}
