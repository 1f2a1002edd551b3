//go:build controlplane

package approver

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/hcp-node-agent/hcp-node-agent/test/rights"
)

// The manifest must have no unknown field, and its pods must be admitted in a namespace that
// enforces the restricted pod security standard.
func TestControlPlaneDeployment(t *testing.T) {
	documents, err := rights.Documents("approver.yaml")
	if err != nil || len(documents) != 1 {
		t.Fatalf("%d documents, %v", len(documents), err)
	}
	var deployment appsv1.Deployment
	if err := yaml.UnmarshalStrict([]byte(documents[0]), &deployment); err != nil {
		t.Fatal(err)
	}
	client := client(t, plane.Kubeconfig, rest.ImpersonationConfig{})
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: "restricted", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict}
	if _, err := client.AppsV1().Deployments("restricted").Create(t.Context(), &deployment, dry); err != nil {
		t.Error(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "approver"}, Spec: deployment.Spec.Template.Spec}
	if _, err := client.CoreV1().Pods("restricted").Create(t.Context(), pod, dry); err != nil {
		t.Error(err)
	}
	pod.Spec.Containers[0].SecurityContext = nil
	if _, err := client.CoreV1().Pods("restricted").Create(t.Context(), pod, dry); err == nil {
		t.Error("the namespace admits every pod, so this test proves nothing")
	}
}
