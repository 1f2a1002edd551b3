// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package approver

import (
	"context"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/csrtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

const hostedClusterCRD = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: hostedclusters.hypershift.openshift.io
spec:
  group: hypershift.openshift.io
  names: {kind: HostedCluster, listKind: HostedClusterList, plural: hostedclusters, singular: hostedcluster}
  scope: Namespaced
  versions:
  - name: v1beta1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// A cluster that serves HostedClusters is a management cluster. Its kubeconfig is refused before anything is approved.
func TestControlPlaneRefusesManagementCluster(t *testing.T) {
	s := newTestCluster(t)
	key := certtest.NewKey(t)
	csr := csrtest.ClientRequest{Client: csrtest.Bootstrapper(t), Key: key, Node: "management"}.Submit(t)
	node := ManualApproval{NodeName: "management", Fingerprint: enrollment.Fingerprint(&key.PublicKey)}
	csrtest.Kubectl(t.Context(), t, hostedClusterCRD, "apply", "-f", "-")
	t.Cleanup(func() { csrtest.Kubectl(context.Background(), t, hostedClusterCRD, "delete", "--wait", "-f", "-") })
	waittest.Until(t, "waiting for the API group of HostedClusters", func() (any, bool) {
		err := kubetest.AdminClient(t).Discovery().RESTClient().Get().AbsPath("/apis/hypershift.openshift.io").
			Do(t.Context()).Error()
		return err, err == nil
	})
	a := s.newApprover()
	for name, run := range map[string]func() error{
		"Review":          func() error { _, err := a.Review(t.Context(), "management"); return err },
		"ApproveManually": func() error { return a.ApproveManually(waittest.Context(t), node) },
	} {
		if err := run(); report.CodeOf(err) != report.Refused || !strings.Contains(err.Error(), "is a management cluster") ||
			!strings.Contains(string(report.RemedyOf(err)), "hosted.kubeconfig") {
			t.Errorf("%s: %v (code %d, %s)", name, err, report.CodeOf(err), report.RemedyOf(err))
		}
	}
	if got := csrtest.Conditions(t, csr); got != "" {
		t.Errorf("the CSR is %q", got)
	}
	a.options.AllowManagementCluster = true
	err := a.ApproveManually(waittest.Context(t), node)
	if err != nil || csrtest.Conditions(t, csr) != approvedByAgent {
		t.Errorf("allowed: %v, the CSR is %q", err, csrtest.Conditions(t, csr))
	}
}

// A credential without permissions causes one clear error, and approves nothing.
func TestControlPlaneRefusedCredential(t *testing.T) {
	key := certtest.NewKey(t)
	csr := csrtest.ClientRequest{Client: csrtest.Bootstrapper(t), Key: key, Node: "unpermitted"}.Submit(t)
	a, err := Open(Options{Kubeconfig: csrtest.Kubeconfig(t, kubetest.Plane.BootstrapKubeconfig), OnEvent: func(Event) {}})
	if err != nil {
		t.Fatal(err)
	}
	err = a.ApproveManually(waittest.Context(t),
		ManualApproval{NodeName: "unpermitted", Fingerprint: enrollment.Fingerprint(&key.PublicKey)})
	if report.CodeOf(err) != report.CredentialRefused || !strings.Contains(err.Error(), "lacks a permission") ||
		!strings.Contains(string(report.RemedyOf(err)), "kubeconfig of an administrator") {
		t.Errorf("%v, code %d, remedy %q", err, report.CodeOf(err), report.RemedyOf(err))
	}
	if got := csrtest.Conditions(t, csr); got != "" {
		t.Errorf("the CSR is %q", got)
	}
}
