// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package controller

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/test/csrtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
	"github.com/hcp-node-agent/hcp-node-agent/test/loopback"
	"github.com/hcp-node-agent/hcp-node-agent/test/rights"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// The credential must not have more rights than the controller uses.
func TestControlPlaneRights(t *testing.T) {
	const user = "system:serviceaccount:" + v1alpha1.Namespace + ":" + rights.Controller
	const group = "hcp-node-agent.io"
	list := authorizationv1.ResourceAttributes{Verb: "list", Group: group, Resource: "nodeenrollments"}
	if !csrtest.Allowed(t, user, list) {
		t.Fatal("it must not list NodeEnrollments")
	}
	for _, no := range []authorizationv1.ResourceAttributes{
		{Verb: "get", Resource: "secrets", Namespace: "kube-system", Name: "x"},
		{Verb: "get", Resource: "configmaps", Namespace: "kube-system", Name: "x"},
		{Verb: "list", Resource: "configmaps", Namespace: "kube-system"},
		{Verb: "list", Resource: "configmaps", Namespace: v1alpha1.Namespace},
		{Verb: "get", Resource: "configmaps", Namespace: v1alpha1.Namespace, Name: "x"},
		{Verb: "update", Resource: "configmaps", Namespace: v1alpha1.Namespace, Name: "lost-nodes"},
		{Verb: "update", Resource: "configmaps", Namespace: "kube-system", Name: "extension-apiserver-authentication"},
		{Verb: "delete", Resource: "nodes", Name: "x"},
		{Verb: "update", Resource: "nodes", Name: "x"},
		{Verb: "list", Resource: "pods"},
		{Verb: "get", Resource: "pods", Namespace: "default", Name: "x"},
		{Verb: "create", Group: group, Resource: "noderemediations"},
		{Verb: "update", Group: group, Resource: "noderemediations", Name: "x"},
		{Verb: "patch", Resource: "nodes", Subresource: "status", Name: "x"},
		{Verb: "create", Group: group, Resource: "noderollouts"},
		{Verb: "update", Group: group, Resource: "noderollouts", Name: "x"},
		{Verb: "create", Resource: "secrets", Namespace: v1alpha1.Namespace},
		{Verb: "update", Resource: "secrets", Namespace: v1alpha1.Namespace, Name: "x"},
		{Verb: "delete", Group: rbacv1.GroupName, Resource: "roles", Namespace: v1alpha1.Namespace, Name: "x"},
		{Verb: "create", Group: rbacv1.GroupName, Resource: "roles", Namespace: "kube-system"},
		{Verb: "create", Group: rbacv1.GroupName, Resource: "clusterroles"},
		{Verb: "escalate", Group: rbacv1.GroupName, Resource: "roles", Namespace: v1alpha1.Namespace},
		{Verb: "bind", Group: rbacv1.GroupName, Resource: "roles", Namespace: v1alpha1.Namespace},
		{Verb: "create", Group: group, Resource: "nodeenrollments"},
		{Verb: "update", Group: group, Resource: "nodeenrollments", Name: "x"},
		{Verb: "delete", Group: group, Resource: "nodeenrollments", Name: "x"},
		{Verb: "create", Group: "certificates.k8s.io", Resource: "certificatesigningrequests"},
		{Verb: "delete", Group: "certificates.k8s.io", Resource: "certificatesigningrequests"},
		{Verb: "approve", Group: "certificates.k8s.io", Resource: "signers", Name: "kubernetes.io/kube-apiserver-client"},
		{Verb: "sign", Group: "certificates.k8s.io", Resource: "signers", Name: "kubernetes.io/kubelet-serving"},
		{Verb: "get", Resource: "secrets", Namespace: "kube-system", Name: "x"},
		{Verb: "delete", Resource: "secrets", Namespace: v1alpha1.Namespace, Name: "x"},
		{Verb: "create", Group: "coordination.k8s.io", Resource: "leases", Namespace: "kube-system"},
		{Verb: "update", Group: "coordination.k8s.io", Resource: "leases", Namespace: v1alpha1.Namespace, Name: "x"},
		{Verb: "update", Group: "coordination.k8s.io", Resource: "leases", Namespace: "kube-node-lease", Name: "x"},
	} {
		if csrtest.Allowed(t, user, no) {
			t.Errorf("it may %s %s %s", no.Verb, no.Resource, no.Name)
		}
	}
}

// limitedKubeconfig returns a kubeconfig of a user with the rights of the ClusterRole in deploy/hosted-base/rbac.yaml,
// as change leaves them, and with that to create Events.
func limitedKubeconfig(t *testing.T, user string, change func(*rbacv1.ClusterRole)) []byte {
	t.Helper()
	rbac := kubetest.AdminClient(t).RbacV1()
	original, err := rbac.ClusterRoles().Get(t.Context(), rights.Controller, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: original.Rules}
	change(role)
	if _, err := rbac.ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}}
	if _, err := rbac.ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user}, Subjects: subjects,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, namespace := range []string{"default", v1alpha1.Namespace} {
		if _, err := rbac.RoleBindings(namespace).Create(t.Context(), &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: user}, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: rights.Controller},
		}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := rbac.RoleBindings(namespace).Delete(context.Background(), user, metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(func() {
		all := metav1.DeleteOptions{}
		err := errors.Join(rbac.ClusterRoles().Delete(context.Background(), user, all),
			rbac.ClusterRoleBindings().Delete(context.Background(), user, all))
		if err != nil {
			t.Error(err)
		}
	})
	waittest.UntilTrue(t, "the permissions of "+user, func() bool {
		return csrtest.Allowed(t, user, authorizationv1.ResourceAttributes{Verb: "list", Resource: "nodes"}) &&
			csrtest.Allowed(t, user, authorizationv1.ResourceAttributes{
				Verb: "create", Group: "events.k8s.io", Resource: "events", Namespace: "default",
			})
	})
	file, err := clientcmd.Load(csrtest.Kubeconfig(t, kubetest.Plane.Kubeconfig))
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range file.AuthInfos {
		info.Impersonate = user
	}
	content, err := clientcmd.Write(*file)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// startWith starts the controllers with a kubeconfig and without leader election.
func startWith(t *testing.T, kubeconfig []byte) *testController {
	t.Helper()
	c := &testController{t: t}
	m := c.newManager(kubeconfig)
	c.run(m, addControllers(m, hashesOf(t, csrtest.ClusterCA(t))))
	return c
}

// A CSR that the API server does not let the controller approve does not delay others. It is reported once, and
// approved when the API server permits it.
func TestControlPlaneForbiddenCSRDoesNotBlockOthers(t *testing.T) {
	full := startController(t)
	full.join("forbidden", "192.0.2.30")
	full.stop()
	bad := servingCSR(t, "forbidden", "192.0.2.30")
	var removed []rbacv1.PolicyRule
	c := startWith(t, limitedKubeconfig(t, "approves-clients", func(role *rbacv1.ClusterRole) {
		for i, rule := range role.Rules {
			if slices.Contains(rule.Resources, "signers") {
				removed = append(removed, rule)
				role.Rules[i].ResourceNames = []string{certificatesv1.KubeAPIServerClientKubeletSignerName}
			}
		}
	}))
	c.awaitDecision(bad, approver.Warning, "it cannot be approved: approving CSR "+bad)
	c.join("allowed")
	c.join("allowed-late")
	checkPending(t, bad)
	warnings := slices.DeleteFunc(c.decisions(bad), func(entry logEntry) bool { return entry.Message != "warning" })
	if len(warnings) != 1 {
		t.Errorf("reported %+v", warnings)
	}
	waittest.UntilTrue(t, "the Event", func() bool {
		return slices.ContainsFunc(eventsOf(t, "forbidden"), func(event string) bool {
			return strings.HasPrefix(event, "Warning CSRNotApproved "+bad+": it cannot be approved")
		})
	})
	admin := kubetest.AdminClient(t).RbacV1().ClusterRoles()
	role, err := admin.Get(t.Context(), "approves-clients", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	role.Rules = append(role.Rules, removed...)
	if _, err := admin.Update(t.Context(), role, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.awaitApproved(bad)
}

// Without the right to read the client CAs, the CSRs of all other nodes are still approved.
func TestControlPlaneUnreadableClientCAs(t *testing.T) {
	full := startController(t)
	first, key := csrtest.SubmitWithToken(t, enroll(t, "unverified"))
	full.awaitApproved(first)
	full.stop()
	csrtest.Delete(t, first)
	csrtest.CreateNode(t, "unverified")
	csr := expiredRequest(t, "unverified", key, time.Now().Add(-time.Minute)).Submit(t)
	c := startWith(t, limitedKubeconfig(t, "reads-no-configmap", func(*rbacv1.ClusterRole) {}))
	last := c.awaitDecision(csr, approver.Ignored, "its client certificate cannot be verified")
	if !strings.Contains(last.Remedy, "deploy/hosted-base") {
		t.Errorf("the remedy is %q", last.Remedy)
	}
	checkPending(t, csr)
	c.join("verified")
	c.stop()
	startController(t).awaitApproved(csr)
}

// A controller continues after an interruption of the connection to the API server.
func TestControlPlaneSurvivesInterruption(t *testing.T) {
	proxy := csrtest.NewProxy(t)
	c := &testController{t: t}
	options := c.options(proxy.Kubeconfig(t, controllerKubeconfig))
	options.ProbeAddress = loopback.FreeAddress(t)
	m, err := newManager(options, false)
	if err != nil {
		t.Fatal(err)
	}
	c.run(m, addControllers(m, options.ClusterCA))
	waittest.UntilTrue(t, "the probes", func() bool {
		return probe(t, options.ProbeAddress, "readyz") && probe(t, options.ProbeAddress, "livez")
	})
	c.join("before")
	proxy.SetCut(true)
	csr, _ := csrtest.SubmitWithToken(t, enroll(t, "meanwhile"))
	refused := proxy.Refused()
	waittest.UntilTrue(t, "an attempt to connect", func() bool { return proxy.Refused() > refused })
	checkPending(t, csr)
	if !probe(t, options.ProbeAddress, "livez") {
		t.Error("the controller is not live while the API server is unreachable")
	}
	proxy.SetCut(false)
	waittest.UntilTrue(t, "the approval", func() bool { return csrtest.Conditions(t, csr) == approved })
	c.join("after")
}

// probe reports whether a probe succeeds.
func probe(t *testing.T, address, path string) bool {
	t.Helper()
	response, err := http.Get("http://" + address + "/" + path)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	return response.StatusCode == http.StatusOK
}
