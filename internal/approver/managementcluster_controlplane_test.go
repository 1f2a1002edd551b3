// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package approver

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/csrtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
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

// A cluster that serves HostedClusters is a management cluster. The approver refuses its
// kubeconfig before it approves anything.
func TestControlPlaneRefusesManagementCluster(t *testing.T) {
	s := newTestCluster(t)
	csr, _ := csrtest.SubmitWithToken(t, s.newToken("management", csrtest.ClusterCA(t), 0))
	csrtest.Kubectl(t.Context(), t, hostedClusterCRD, "apply", "-f", "-")
	t.Cleanup(func() { csrtest.Kubectl(context.Background(), t, hostedClusterCRD, "delete", "--wait", "-f", "-") })
	kubetest.WaitUntil(t, "the API group of HostedClusters", func() bool {
		return kubetest.AdminClient(t).Discovery().RESTClient().Get().AbsPath(
			"/apis/hypershift.openshift.io",
		).Do(
			t.Context(),
		).Error() == nil
	})
	a := s.newApprover(fleetKubeconfig)
	for name, run := range map[string]func() error{
		"Once":  func() error { return a.Once(kubetest.Context(t, time.Minute)) },
		"Watch": func() error { return a.Watch(kubetest.Context(t, time.Minute)) },
		"ApproveManually": func() error {
			return a.ApproveManually(kubetest.Context(t, time.Minute),
				ManualApproval{NodeName: "management", Fingerprint: "SHA256:" + strings.Repeat("0", 64)})
		},
	} {
		if err := run(); report.CodeOf(err) != report.Refused || !strings.Contains(err.Error(), "is a management cluster") ||
			!strings.Contains(string(report.RemedyOf(err)), "hosted.kubeconfig") {
			t.Errorf("%s: %v (code %d, %s)", name, err, report.CodeOf(err), report.RemedyOf(err))
		}
	}
	if got := csrtest.Conditions(t, csr); got != "" {
		t.Errorf("the CSR is %q", got)
	}
	allowed := s.newApprover(fleetKubeconfig)
	allowed.options.AllowManagementCluster = true
	if err := allowed.Once(kubetest.Context(t, time.Minute)); err != nil || csrtest.Conditions(t, csr) != approvedByAgent {
		t.Errorf("allowed: %v, the CSR is %q", err, csrtest.Conditions(t, csr))
	}
}
