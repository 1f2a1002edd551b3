// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package node

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/node/pods"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
)

// The node reads with its own rights which objects its own pods refer to. It
// may not read other objects, and receives no object data.
func TestControlPlaneMissingSecretIsReported(t *testing.T) {
	node, _ := joinedNode(t, "missing")
	kubetest.CreateNode(t, node.Conn, node.Name)
	reportReady(t, node, corev1.ConditionFalse, cniMessage)
	createNamespace(t, "openshift-ovn-kubernetes")
	secrets := kubetest.AdminClient(t).CoreV1().Secrets("openshift-ovn-kubernetes")
	other := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "of-nobody-here"},
		StringData: map[string]string{"key": "canary"},
	}
	if _, err := secrets.Create(t.Context(), other, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	createPod(t, node.Name, "openshift-ovn-kubernetes", "ovnkube-node-missing", podWithSecret("ovn-node-metrics-cert"),
		waitingStatus("ContainerCreating", ""))

	want := "problem the network plugin has not written its configuration yet (" + node.Host.CNIDirectory +
		" is empty); pod openshift-ovn-kubernetes/ovnkube-node-missing is not ready: Secret openshift-ovn-kubernetes/ovn-node-metrics-cert, which it requires, does not exist; the service-ca operator creates it for Service ovn-kubernetes-node; its pods run on the cluster's nodes, so at least one node must be Ready | oc -n openshift-service-ca-operator get pods; oc -n openshift-service-ca get pods; oc -n openshift-ovn-kubernetes describe service ovn-kubernetes-node"
	kubetest.WaitUntil(t, "the node authorizer to link the pod to the node",
		func() bool { return findingTexts(t, node)[0] == want })

	err := node.references.metadataRequest(pods.Reference{
		Kind: "Secret", Namespace: "openshift-ovn-kubernetes", Name: "of-nobody-here",
	}).Do(t.Context()).Error()
	if !apierrors.IsForbidden(err) {
		t.Errorf("a Secret that no pod of this node refers to: %v, want it forbidden", err)
	}

	made := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "ovn-node-metrics-cert"},
		Data:       map[string][]byte{"tls.key": []byte("canary")},
	}
	if _, err := secrets.Create(t.Context(), made, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	kubetest.WaitUntil(t, "the Secret to be found", func() bool {
		return strings.Contains(findingTexts(t, node)[0], "ovnkube-node-missing is not ready: it is starting | ")
	})
	raw, err := node.references.metadataRequest(pods.Reference{
		Kind: "Secret", Namespace: "openshift-ovn-kubernetes",
		Name: "ovn-node-metrics-cert",
	}).Do(t.Context()).Raw()
	if err != nil || !strings.Contains(string(raw), "PartialObjectMetadata") ||
		strings.Contains(string(raw), "Y2FuYXJ5") {
		t.Errorf("the content of a Secret was read: %v\n%s", err, raw)
	}
}
