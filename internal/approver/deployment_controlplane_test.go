// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package approver

import (
	"os/exec"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/test/bed"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
)

// The kustomization must have no unknown field, and its pods must be admitted in its namespace, which
// enforces the restricted pod security standard.
func TestControlPlaneDeployment(t *testing.T) {
	bin, err := bed.Build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	output, err := exec.CommandContext(t.Context(), filepath.Join(bin, "kubectl"), "--kubeconfig",
		kubetest.Plane.Kubeconfig, "apply", "--validate=strict", "--kustomize", "../../deploy").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	pods := kubetest.AdminClient(t).CoreV1().Pods("hcp-node-admin")
	var created []corev1.Pod
	kubetest.WaitUntil(t, "the pods of the Deployment", func() bool {
		list, err := pods.List(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=hcp-node-admin"})
		if err != nil {
			t.Fatal(err)
		}
		created = list.Items
		return len(created) == 2
	})
	privileged := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "privileged"}, Spec: created[0].Spec}
	privileged.Spec.Containers[0].SecurityContext = nil
	if _, err := pods.Create(t.Context(), privileged,
		metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err == nil {
		t.Error("the namespace admits pods that are not restricted")
	}
}
