// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package main

import (
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/cert"

	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/csrtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// credential returns the path of a kubeconfig with a client certificate of the cluster's own signer.
func (h *hostedCluster) credential(t *testing.T, user string, groups ...string) string {
	t.Helper()
	return h.kubeconfig(t, kubetest.WithCredential(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: user, Organization: groups},
	}))
}

// clientOf returns a client with a client certificate of the cluster's own signer.
func (h *hostedCluster) clientOf(t *testing.T, user string, groups ...string) kubernetes.Interface {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", h.credential(t, user, groups...))
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func (h *hostedCluster) nodeClient(t *testing.T, node string) kubernetes.Interface {
	t.Helper()
	return h.clientOf(t, "system:node:"+node, "system:nodes")
}

// createPod creates a Secret, and a pod of a node that uses it, both with a name.
func (h *hostedCluster) createPod(t *testing.T, node, name string) *corev1.Pod {
	t.Helper()
	_, err := h.admin.CoreV1().Secrets("default").Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name},
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	no := false
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{
		NodeName: node, ServiceAccountName: "default", AutomountServiceAccountToken: &no,
		Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}, // as that of a DaemonSet
		Containers:  []corev1.Container{{Name: "main", Image: "quay.io/a/b:1"}},
		Volumes: []corev1.Volume{
			{Name: "secret", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}}},
			{Name: "token", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
				Sources: []corev1.VolumeProjection{{
					ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"},
				}},
			}}},
		},
	}}
	var created *corev1.Pod
	waittest.Until(t, "waiting for the ServiceAccount of pod "+name, func() (any, bool) {
		var err error
		created, err = h.admin.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{})
		return err, err == nil
	})
	return created
}

func getSecret(client kubernetes.Interface, name string) error {
	_, err := client.CoreV1().Secrets("default").Get(context.Background(), name, metav1.GetOptions{})
	return err
}

// nodeWrites returns what a kubelet writes, as dry runs: to its own objects, and to those of a pod that is bound to its
// Node.
func nodeWrites(t *testing.T, client kubernetes.Interface, node string, pod *corev1.Pod) map[string]func() error {
	t.Helper()
	ctx, dry := t.Context(), []string{metav1.DryRunAll}
	create, patch := metav1.CreateOptions{DryRun: dry}, metav1.PatchOptions{DryRun: dry}
	own := metav1.ObjectMeta{Name: node}
	annotate := []byte(`{"metadata": {"annotations": {"a": "b"}}}`)
	pods := client.CoreV1().Pods(pod.Namespace)
	subject := csrtest.Subject(node)
	request, err := cert.MakeCSR(certtest.NewKey(t), &subject, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]func() error{
		"its Node": func() error {
			_, err := client.CoreV1().Nodes().Create(ctx, &corev1.Node{ObjectMeta: own}, create)
			return err
		},
		"annotations of its Node": func() error {
			_, err := client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, annotate, patch)
			return err
		},
		"status of its Node": func() error {
			_, err := client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, annotate, patch, "status")
			return err
		},
		"its Lease": func() error {
			_, err := client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Create(ctx,
				&coordinationv1.Lease{ObjectMeta: own}, create)
			return err
		},
		"its CSINode": func() error {
			_, err := client.StorageV1().CSINodes().Create(ctx, &storagev1.CSINode{ObjectMeta: own}, create)
			return err
		},
		"the renewal of its certificate": func() error {
			_, err := client.CertificatesV1().CertificateSigningRequests().Create(ctx,
				&certificatesv1.CertificateSigningRequest{
					ObjectMeta: metav1.ObjectMeta{GenerateName: "csr-"},
					Spec: certificatesv1.CertificateSigningRequestSpec{
						Request: request, SignerName: certificatesv1.KubeAPIServerClientKubeletSignerName,
						Usages: []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth, certificatesv1.UsageDigitalSignature},
					},
				}, create)
			return err
		},
		"an Event": func() error { return createEvent(ctx, client) },
		"a token of a pod": func() error {
			_, err := client.CoreV1().ServiceAccounts(pod.Namespace).CreateToken(ctx, "default",
				&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
					BoundObjectRef: &authenticationv1.BoundObjectReference{
						APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID,
					},
				}}, create)
			return err
		},
		"status of a pod": func() error {
			_, err := pods.Patch(ctx, pod.Name, types.MergePatchType, annotate, patch, "status")
			return err
		},
		"deletion of a pod": func() error { return pods.Delete(ctx, pod.Name, metav1.DeleteOptions{DryRun: dry}) },
		"eviction of a pod": func() error {
			return pods.EvictV1(ctx, &policyv1.Eviction{
				ObjectMeta:    metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
				DeleteOptions: &metav1.DeleteOptions{DryRun: dry},
			})
		},
	}
}

// createEvent creates an Event as a dry run.
func createEvent(ctx context.Context, client kubernetes.Interface) error {
	_, err := client.CoreV1().Events("default").Create(ctx, &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{GenerateName: "lost-"},
		InvolvedObject: corev1.ObjectReference{Kind: "Node", Name: "any"},
	}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

// isPolicyRefusal reports whether the policy about lost nodes has refused a request of a node.
func isPolicyRefusal(err error, node string) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "'hcp-node-admin-lost-nodes'") &&
		strings.HasSuffix(err.Error(), "denied request: node "+node+" was removed as lost")
}

// checkWrites checks whether the API server admits what a node writes, or refuses it as that of a lost node.
func (h *hostedCluster) checkWrites(t *testing.T, node string, pod *corev1.Pod, isLost bool) {
	t.Helper()
	for name, write := range nodeWrites(t, h.nodeClient(t, node), node, pod) {
		var err error
		waittest.Until(t, "waiting until "+node+" may write "+name, func() (any, bool) {
			err = write()
			return err, !apierrors.IsForbidden(err) || strings.Contains(err.Error(), "hcp-node-admin-lost-nodes")
		})
		if isLost && !isPolicyRefusal(err, node) || !isLost && err != nil && !apierrors.IsAlreadyExists(err) {
			t.Errorf("%s writes %s: %v, lost: %t", node, name, err, isLost)
		}
	}
}
