// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package node

import (
	"crypto/x509"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
)

// A node may create Events about itself with its own credential. "oc describe
// node" finds them.
func TestControlPlaneEvent(t *testing.T) {
	node, _ := joinedNode(t, "telling")
	kubetest.CreateNode(t, node.Conn, node.Name)
	long := strings.Repeat("ü", 2000) // of two bytes each; the API server accepts 1024
	for message, warning := range map[string]bool{
		"a taint stays": true, "resolved: a taint stays": false,
		long: true,
	} {
		event := Event{Warning: warning, Reason: "NodeTainted", Message: message, Time: time.Now()}
		if err := node.RecordEvent(t.Context(), event); err != nil {
			t.Fatal(err)
		}
	}
	list, err := kubetest.AdminClient(t).CoreV1().Events("").List(t.Context(), metav1.ListOptions{
		FieldSelector: "involvedObject.kind=Node,involvedObject.name=telling,involvedObject.uid=telling",
	})
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]string{}
	for _, event := range list.Items {
		kinds[event.Message] = event.Type + " " + event.Reason + " " + event.Source.Component
	}
	if len(kinds) != 3 || kinds["a taint stays"] != "Warning NodeTainted hcp-node-agent" ||
		kinds["resolved: a taint stays"] != "Normal NodeTainted hcp-node-agent" {
		t.Errorf("%q", kinds)
	}
}

// A node detects a new CA of the cluster from a volume of its pods, without
// additional rights.
func TestControlPlaneCompareCAs(t *testing.T) {
	node, _ := joinedNode(t, "trusting")
	kubetest.CreateNode(t, node.Conn, node.Name)
	cluster, err := kube.ParseCluster(kubetest.BootstrapKubeconfig(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	missing := func() CADifference {
		t.Helper()
		found, err := node.CompareCAs(t.Context(), cluster)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	unknown := func() []*x509.Certificate { return missing().Missing }
	if found := unknown(); len(found) > 0 {
		t.Errorf("without a pod: %v", found)
	}
	const namespace = "openshift-trusting" // users cannot change ConfigMaps in it
	createNamespace(t, namespace)
	// The cluster's own controller creates it, or the test if none is running.
	maps := kubetest.AdminClient(t).CoreV1().ConfigMaps(namespace)
	bundle := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: rootCAConfigMap},
		Data:       map[string]string{"ca.crt": string(cluster.CA)},
	}
	if _, err := maps.Create(t.Context(), bundle, metav1.CreateOptions{}); err != nil &&
		!apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	mounts := withRootCAs(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "mounts"},
		Spec:       corev1.PodSpec{NodeName: node.Name, Containers: []corev1.Container{{Name: "main", Image: "none"}}},
	})
	if _, err := kubetest.AdminClient(t).CoreV1().Pods(namespace).Create(t.Context(), mounts,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if found := unknown(); len(found) > 0 {
		t.Errorf("the current CAs: %v", found)
	}
	// The node's kubeconfig contains the CA of another cluster.
	cluster.CA = certtest.NewCA(t, "of before").PEM
	current, err := kube.ParsePEMCertificates(kubetest.ReadFile(t, kubetest.Plane.ClusterCA))
	if err != nil {
		t.Fatal(err)
	}
	if found := unknown(); len(found) != 1 || !found[0].Equal(current[0]) {
		t.Errorf("a new CA: %v", found)
	}
	// Another client changes the CAs, and the publisher or that client reverts the change.
	before := missing()
	for _, bundle := range []string{"changed", string(kubetest.ReadFile(t, kubetest.Plane.ClusterCA))} {
		patch := fmt.Appendf(nil, `{"data":{"ca.crt":%q}}`, bundle)
		if _, err := maps.Patch(t.Context(), rootCAConfigMap, types.MergePatchType, patch,
			metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if after := missing(); before.Version == "" || after.Version == before.Version || len(after.Missing) != 1 {
		t.Errorf("version %q before a change that was reverted, %q after it; %d CAs", before.Version, after.Version,
			len(after.Missing))
	}
}
