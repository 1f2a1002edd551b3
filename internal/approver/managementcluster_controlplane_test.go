// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package approver

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/bed"
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

// kubectl runs the real kubectl as an administrator, with an input.
func kubectl(ctx context.Context, t *testing.T, input string, args ...string) {
	t.Helper()
	bin, err := bed.Build(ctx)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(
		ctx,
		filepath.Join(bin, "kubectl"),
		append([]string{"--kubeconfig", plane.Kubeconfig}, args...)...)
	command.Stdin = strings.NewReader(input)
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("kubectl %q: %v: %s", args, err, output)
	}
}

// A cluster that serves HostedClusters is a management cluster. The approver refuses its
// kubeconfig before it approves anything.
func TestControlPlaneRefusesManagementCluster(t *testing.T) {
	s := newTestCluster(t)
	csr, _ := submitWithToken(t, s.newToken("management", clusterCA(t), 0))
	kubectl(t.Context(), t, hostedClusterCRD, "apply", "-f", "-")
	t.Cleanup(func() { kubectl(context.Background(), t, hostedClusterCRD, "delete", "--wait", "-f", "-") })
	eventually(t, "the API group of HostedClusters", func() bool {
		return adminClient(
			t,
		).Discovery().RESTClient().Get().AbsPath(
			"/apis/hypershift.openshift.io",
		).Do(
			t.Context(),
		).Error() == nil
	})
	a := s.newApprover(fleetKubeconfig)
	for name, run := range map[string]func() error{
		"Once":  func() error { return a.Once(withTimeout(t, time.Minute)) },
		"Watch": func() error { return a.Watch(withTimeout(t, time.Minute)) },
		"ApproveManually": func() error {
			return a.ApproveManually(withTimeout(t, time.Minute),
				ManualApproval{NodeName: "management", Fingerprint: "SHA256:" + strings.Repeat("0", 64)})
		},
	} {
		if err := run(); report.CodeOf(err) != report.Refused || !strings.Contains(err.Error(), "is a management cluster") ||
			!strings.Contains(string(report.RemedyOf(err)), "hosted.kubeconfig") {
			t.Errorf("%s: %v (code %d, %s)", name, err, report.CodeOf(err), report.RemedyOf(err))
		}
	}
	if got := csrConditions(t, csr); got != "" {
		t.Errorf("the CSR is %q", got)
	}
	allowed := s.newApprover(fleetKubeconfig)
	allowed.options.AllowManagementCluster = true
	if err := allowed.Once(withTimeout(t, time.Minute)); err != nil || csrConditions(t, csr) != approvedByAgent {
		t.Errorf("allowed: %v, the CSR is %q", err, csrConditions(t, csr))
	}
}
