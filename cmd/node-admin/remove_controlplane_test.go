// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package main

import (
	"context"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/retry"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/fleet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/clitest"
	"github.com/hcp-node-agent/hcp-node-agent/test/csrtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// createNamespace creates the namespace of the controller, unless another test has created it.
func (h *hostedCluster) createNamespace(t *testing.T) {
	t.Helper()
	_, err := h.admin.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.Namespace}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}

func (h *hostedCluster) testRemove(t *testing.T) {
	h.createNamespace(t)
	t.Run("ready", h.checkReadyIsKept)
	t.Run("success", h.checkRemoval)
	t.Run("permissions", h.checkRemovePermissions)
	t.Run("replaced", h.checkReplaced)
	t.Run("becomes Ready", h.checkBecomesReady)
}

// join creates all objects of a node.
func (h *hostedCluster) join(t *testing.T, node string) {
	t.Helper()
	h.enroll(t, node, nil)
	_, err := h.admin.CoreV1().ServiceAccounts(v1alpha1.Namespace).Create(t.Context(),
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.ServiceAccount(node)}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	csrtest.CreateNode(t, node)
}

// setReady writes the condition Ready of a Node as kubelet does.
func (h *hostedCluster) setReady(t *testing.T, node string, status corev1.ConditionStatus) {
	t.Helper()
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error { // the cluster labels and taints new Nodes
		object, err := h.admin.CoreV1().Nodes().Get(t.Context(), node, metav1.GetOptions{})
		if err != nil {
			return err
		}
		object.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}
		_, err = h.admin.CoreV1().Nodes().UpdateStatus(t.Context(), object, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// remains returns the kinds of the objects that exist of a node.
func (h *hostedCluster) remains(t *testing.T, node string) string {
	t.Helper()
	var kinds []string
	if h.admin.Discovery().RESTClient().Get().AbsPath(enrollmentsPath, node).Do(t.Context()).Error() == nil {
		kinds = append(kinds, "NodeEnrollment")
	}
	accounts := h.admin.CoreV1().ServiceAccounts(v1alpha1.Namespace)
	_, err := accounts.Get(t.Context(), v1alpha1.ServiceAccount(node), metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		kinds = append(kinds, "ServiceAccount")
	}
	if _, err := h.admin.CoreV1().Nodes().Get(t.Context(), node, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		kinds = append(kinds, "Node")
	}
	return strings.Join(kinds, " ")
}

const allKinds = "NodeEnrollment ServiceAccount Node"

func (h *hostedCluster) checkReadyIsKept(t *testing.T) {
	h.join(t, "ready")
	h.join(t, "not-ready")
	h.setReady(t, "ready", corev1.ConditionTrue)
	got := h.exec(t, "remove", "not-ready", "ready")
	const want = "hcp-node-admin remove: Node ready is Ready, and may run pods; --force removes it nevertheless\n" +
		"# remedy:\noc adm drain ready --ignore-daemonsets --delete-emptydir-data\n# on the host\nhcp-node-agent leave\n" +
		"# when the Node is no longer Ready, about a minute later\nhcp-node-admin remove ready\n"
	if got.Code != report.Refused || got.Out != "" || got.Err != want || h.remains(t, "ready") != allKinds ||
		h.remains(t, "not-ready") != allKinds {
		t.Errorf("%+v; remain %s and %s", got, h.remains(t, "ready"), h.remains(t, "not-ready"))
	}
	got = h.exec(t, "remove", "not-ready", "ready", "--force")
	if got.Code != report.Success || h.remains(t, "ready")+h.remains(t, "not-ready") != "" {
		t.Errorf("--force: %+v", got)
	}
}

func (h *hostedCluster) checkRemoval(t *testing.T) {
	h.join(t, "removed")
	h.setReady(t, "removed", corev1.ConditionUnknown)
	got := h.exec(t, "remove", "removed", "removed")
	const want = "NodeEnrollment of removed deleted\nServiceAccount of removed deleted\nNode of removed deleted\n\n" +
		"# on each host, unless it was done before:\nhcp-node-agent leave\n"
	if got.Code != report.Success || got.Out != want || got.Err != "" || h.remains(t, "removed") != "" {
		t.Errorf("%+v; remain %s", got, h.remains(t, "removed"))
	}
	again := h.exec(t, "remove", "removed")
	if again.Code != report.Success || again.Out != "nothing exists of removed\n" {
		t.Errorf("again: %+v", again)
	}
	csrtest.CreateNode(t, "removed")
	out := h.exec(t, "remove", "removed", "worker-9", "-o", "json").Out
	nodes, _ := clitest.DecodeDocument(t, out)["nodes"].([]any)
	if wrong := admin().ValidateDocuments(t, out); wrong != "" || len(nodes) != 2 || h.remains(t, "removed") != "" {
		t.Errorf("%s%s", wrong, out)
	}
}

func (h *hostedCluster) checkRemovePermissions(t *testing.T) {
	h.join(t, "permitted")
	all := removePermissions()
	h.grant(t, "reader", []permission{
		{verbs: "get", resource: all[0].resource},
		{verbs: "get", resource: "nodes"},
		{verbs: "get", resource: "serviceaccounts", namespace: v1alpha1.Namespace},
	})
	var got clitest.Result
	waittest.Until(t, "waiting for the permission to read", func() (any, bool) {
		got = runCommandLine(t, "remove", "permitted", "--kubeconfig", h.as(t, "reader"))
		return got, strings.Contains(got.Err, "deleting NodeEnrollment permitted on ")
	})
	if got.Code != report.CredentialRefused || h.remains(t, "permitted") != allKinds {
		t.Errorf("without the permission to delete: %+v; remain %s", got, h.remains(t, "permitted"))
	}
	h.grant(t, "remover", all)
	if h.await(t, "remover", "remove", "permitted"); h.remains(t, "permitted") != "" {
		t.Errorf("with the documented permissions: remain %s", h.remains(t, "permitted"))
	}
}

// atDeletion calls do before the first deletion of a path is sent.
type atDeletion struct {
	http.RoundTripper
	path string
	do   func()
}

func (a *atDeletion) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method == http.MethodDelete && strings.HasSuffix(request.URL.Path, a.path) && a.do != nil {
		a.do()
		a.do = nil
	}
	return a.RoundTripper.RoundTrip(request)
}

// removeWith removes a node, and calls do before the deletion of a path.
func (*hostedCluster) removeWith(t *testing.T, node, path string, do func()) ([]fleet.Removal, error) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubetest.Plane.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return &atDeletion{RoundTripper: next, path: path, do: do}
	})
	hosted, err := cluster.Open(cluster.Hosted, config)
	if err != nil {
		t.Fatal(err)
	}
	return fleet.Client{Cluster: hosted}.Remove(t.Context(), []string{node}, false, func(string, string) {})
}

func (h *hostedCluster) checkReplaced(t *testing.T) {
	h.join(t, "replaced")
	_, err := h.removeWith(t, "replaced", "/nodeenrollments/replaced", func() {
		err := h.admin.Discovery().RESTClient().Delete().AbsPath(enrollmentsPath, "replaced").Do(context.Background()).Error()
		if err != nil {
			t.Error(err)
		}
		h.enroll(t, "replaced", nil)
	})
	const want = "the NodeEnrollment of replaced was replaced meanwhile, and is not deleted"
	if err == nil || err.Error() != want || h.remains(t, "replaced") != allKinds {
		t.Errorf("a new NodeEnrollment: %v; remain %s", err, h.remains(t, "replaced"))
	}
	_, err = h.removeWith(t, "replaced", "/nodes/replaced", func() {
		csrtest.DeleteNode(t, "replaced")
		csrtest.CreateNode(t, "replaced")
	})
	if err == nil || !strings.Contains(err.Error(), "the Node of replaced was replaced") ||
		h.remains(t, "replaced") != "Node" {
		t.Errorf("a new Node: %v; remain %s", err, h.remains(t, "replaced"))
	}
}

func (h *hostedCluster) checkBecomesReady(t *testing.T) {
	h.join(t, "changing")
	_, err := h.removeWith(t, "changing", "/nodes/changing", func() { h.setReady(t, "changing", corev1.ConditionFalse) })
	if err != nil || h.remains(t, "changing") != "" {
		t.Errorf("a Node that has changed: %v; remain %s", err, h.remains(t, "changing"))
	}
	h.join(t, "changing")
	removals, err := h.removeWith(t, "changing", "/nodes/changing", func() {
		h.setReady(t, "changing", corev1.ConditionTrue)
	})
	if report.CodeOf(err) != report.Refused || h.remains(t, "changing") != "Node" || len(removals) != 1 ||
		len(removals[0].Deleted) != 2 {
		t.Errorf("a Node that has become Ready: %v, %v; remain %s", err, removals, h.remains(t, "changing"))
	}
}
