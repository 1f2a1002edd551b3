// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package controller

import (
	"context"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/csrtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/rights"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

const enrollmentsPath = "/apis/hcp-node-agent.io/v1alpha1/nodeenrollments"

// request is a request of a party.
type request struct {
	name string
	send func(kubernetes.Interface) error
}

func getSecret(namespace, name string) request {
	return request{"get Secret " + namespace + "/" + name, func(client kubernetes.Interface) error {
		_, err := client.CoreV1().Secrets(namespace).Get(context.Background(), name, metav1.GetOptions{})
		return err
	}}
}

func patchNode(name, patch string) request {
	return request{"patch Node " + name + " with " + patch, func(client kubernetes.Interface) error {
		_, err := client.CoreV1().Nodes().Patch(context.Background(), name, types.MergePatchType, []byte(patch),
			metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}}
}

func raw(verb, path, body string) request {
	return request{verb + " " + path, func(client kubernetes.Interface) error {
		header := "application/json"
		if verb == "PATCH" {
			header = "application/merge-patch+json"
		}
		return client.Discovery().RESTClient().Verb(verb).RequestURI(path).Body([]byte(body)).
			SetHeader("Content-Type", header).Do(context.Background()).Error()
	}}
}

func impersonate(user string, groups ...string) rest.ImpersonationConfig {
	return rest.ImpersonationConfig{UserName: user, Groups: append(groups, "system:authenticated")}
}

// forbid checks that the API server forbids requests.
func forbid(t *testing.T, party string, client kubernetes.Interface, requests ...request) {
	t.Helper()
	for _, one := range requests {
		if err := one.send(client); !apierrors.IsForbidden(err) {
			t.Errorf("%s: %s: %v", party, one.name, err)
		}
	}
}

// foreignRequests are requests that no party but the administrator and the controller may send.
func foreignRequests(node, csr string) []request {
	approve := raw("PATCH", "/apis/certificates.k8s.io/v1/certificatesigningrequests/"+csr+"/approval",
		`{"status": {"conditions": [{"type": "Approved", "status": "True", "reason": "x"}]}}`)
	return []request{
		getSecret(v1alpha1.Namespace, v1alpha1.UserDataSecret("others")), getSecret("kube-system", "any"),
		raw("GET", "/api/v1/namespaces/"+v1alpha1.Namespace+"/secrets", ""),
		raw("GET", enrollmentsPath, ""), raw("GET", enrollmentsPath+"/"+node, ""), raw("POST", enrollmentsPath, "{}"),
		raw("PATCH", enrollmentsPath+"/"+node, `{"spec": {"nodePool": "others"}}`),
		raw("PATCH", enrollmentsPath+"/"+node, `{"spec": {"usedBy": null}}`),
		raw("PATCH", enrollmentsPath+"/"+node+"/status", `{"status": {"phase": "Ready"}}`),
		raw("DELETE", enrollmentsPath+"/"+node, ""),
		raw("POST", "/api/v1/namespaces/"+v1alpha1.Namespace+"/serviceaccounts/"+v1alpha1.ServiceAccount(node)+"/token",
			"{}"),
		raw("POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/"+v1alpha1.Namespace+"/rolebindings", "{}"),
		patchNode("parties-other", `{"metadata": {"annotations": {"hcp-node-agent.io/desired-config": "x"}}}`),
		approve,
	}
}

// A node reads the user data of its own NodePool, writes its own Node, and nothing else of what enrollment and upgrades
// depend on.
func TestControlPlaneNodeIsLimited(t *testing.T) {
	c := startController(t)
	publish(t, "parties", "new")
	publish(t, "others", "new")
	token, object := newEnrollment(t, "parties-node", csrtest.ClusterCA(t))
	object.Spec.NodePool = "parties"
	create(t, object)
	csrtest.CreateNode(t, "parties-other")
	csr, _ := csrtest.SubmitWithToken(t, token)
	c.awaitApproved(csr)
	csrtest.CreateNode(t, "parties-node")
	node := csrtest.NodeClient(t, "parties-node")
	awaitAccess(t, "access of the node", node, "parties", true)
	forbid(t, "node", node, foreignRequests("parties-node", csr)...)
	forbid(t, "node", node,
		patchNode("parties-node", `{"metadata": {"labels": {"node-role.kubernetes.io/infra": ""}}}`),
		patchNode("parties-node", `{"metadata": {"labels": {"a.node-restriction.kubernetes.io/b": ""}}}`),
		patchNode("parties-node", `{"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}`),
		raw("DELETE", "/api/v1/nodes/parties-node", ""))
	own := patchNode("parties-node", `{"metadata": {"annotations": {"hcp-node-agent.io/state": "Healthy"}}}`)
	if err := own.send(node); err != nil {
		t.Errorf("the node cannot report about itself: %v", err)
	}
}

// The labels with which enroll lets a kubelet register are those that the API server lets a kubelet set.
func TestControlPlaneKubeletLabels(t *testing.T) {
	csrtest.CreateNode(t, "parties-labels")
	node := csrtest.NodeClient(t, "parties-labels")
	for _, key := range []string{
		"rack", "example.com/rack", "hypershift.openshift.io/nodePool", "topology.kubernetes.io/zone",
		"node.kubernetes.io/anything", "a.kubelet.kubernetes.io/x", "beta.kubernetes.io/os",
		"failure-domain.beta.kubernetes.io/zone", "node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type",
		"node-role.kubernetes.io/infra", "kubernetes.io/x", "x.k8s.io/y", "k8s.io/y", "node-restriction.kubernetes.io/x",
		"a.node-restriction.kubernetes.io/x", "topology.kubernetes.io/other",
	} {
		err := patchNode("parties-labels", `{"metadata": {"labels": {"`+key+`": "x"}}}`).send(node)
		if err != nil && !apierrors.IsForbidden(err) || (err == nil) != enrollment.IsKubeletLabel(key) {
			t.Errorf("%s: %v, expected to be permitted: %t", key, err, enrollment.IsKubeletLabel(key))
		}
	}
}

// A pod has the rights of its service account, which has none here, whatever node it runs on.
func TestControlPlanePodIsLimited(t *testing.T) {
	publish(t, "others", "new")
	enroll(t, "parties-pod")
	csrtest.CreateNode(t, "parties-other")
	csr, _ := csrtest.SubmitWithToken(t, enroll(t, "parties-pending"))
	pod := csrtest.Client(t, impersonate("system:serviceaccount:default:default", "system:serviceaccounts",
		"system:serviceaccounts:default"))
	forbid(t, "pod", pod, foreignRequests("parties-pod", csr)...)
	forbid(t, "pod", pod, raw("POST", "/apis/certificates.k8s.io/v1/certificatesigningrequests", "{}"),
		raw("GET", "/api/v1/nodes", ""))
}

// The holder of a bootstrap kubeconfig can submit CSRs. TestControlPlaneRefusesInvalidCSRs shows that none is approved.
func TestControlPlaneBootstrapperIsLimited(t *testing.T) {
	c := startController(t)
	publish(t, "others", "new")
	enroll(t, "parties-stolen")
	csrtest.CreateNode(t, "parties-other")
	bare := csrtest.ClientRequest{
		Client: csrtest.Bootstrapper(t), Key: certtest.NewKey(t), Node: "parties-stolen",
	}.Submit(t)
	c.awaitDecision(bare, approver.Refused, "it contains no join token")
	checkPending(t, bare)
	forbid(t, "bootstrap kubeconfig", csrtest.Bootstrapper(t), foreignRequests("parties-stolen", bare)...)
}

// The credential in a join token file gets exactly one Secret, and nothing after the revocation.
func TestControlPlaneJoinTokenIsLimited(t *testing.T) {
	c := startController(t)
	publish(t, "parties-file", "new")
	publish(t, "others", "new")
	csrtest.CreateNode(t, "parties-other")
	token, object := newEnrollment(t, "parties-host", csrtest.ClusterCA(t))
	object.Spec.NodePool = "parties-file"
	create(t, object)
	host := hostClient(t, "parties-host")
	awaitAccess(t, "access of the host", host, "parties-file", true)
	pending, _ := csrtest.SubmitWithToken(t, enroll(t, "parties-pending"))
	forbid(t, "join token file", host, foreignRequests("parties-host", pending)...)
	review, err := host.AuthorizationV1().SelfSubjectRulesReviews().Create(t.Context(),
		&authorizationv1.SelfSubjectRulesReview{
			Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: v1alpha1.Namespace},
		}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, rule := range review.Status.ResourceRules {
		for _, resource := range rule.Resources {
			if !strings.HasPrefix(resource, "selfsubject") { // of every authenticated user
				found = append(found, strings.Join(rule.Verbs, ",")+" "+resource+" "+strings.Join(rule.ResourceNames, ","))
			}
		}
	}
	if want := []string{"get secrets user-data-parties-file"}; !slices.Equal(found, want) {
		t.Errorf("the permissions are %q, want %q", found, want)
	}

	first, _ := csrtest.SubmitWithToken(t, token)
	c.awaitApproved(first)
	second, _ := csrtest.SubmitWithToken(t, token) // by the thief
	c.awaitDecision(second, approver.Refused, "")
	checkPending(t, second)

	deleteEnrollment(t, "parties-host")
	waittest.Until(t, "waiting for the rejection of the revoked credential", func() (any, bool) {
		err := getSecret(v1alpha1.Namespace, "user-data-parties-file").send(host)
		return err, apierrors.IsUnauthorized(err)
	})
	_, object = newEnrollment(t, "parties-host", csrtest.ClusterCA(t))
	object.Spec.NodePool = "parties-file"
	create(t, object)
	awaitAccess(t, "access of the next host", hostClient(t, "parties-host"), "parties-file", true)
	if err := getSecret(v1alpha1.Namespace, "user-data-parties-file").send(host); !apierrors.IsUnauthorized(err) {
		t.Errorf("a new ServiceAccount makes the former token valid: %v", err)
	}
}

// The credential of the controller is that of any node, and that of every right in its namespace contains it.
func TestControlPlaneControllerCredential(t *testing.T) {
	controller := csrtest.Client(t, impersonate("system:serviceaccount:"+v1alpha1.Namespace+":"+rights.Controller))
	csr := csrtest.ClientRequest{ // of a node that is not enrolled
		Client: csrtest.Bootstrapper(t), Key: certtest.NewKey(t), Node: "parties-any",
	}.Submit(t)
	signed, err := controller.CertificatesV1().CertificateSigningRequests().Get(t.Context(), csr, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	signed.Status.Conditions = append(signed.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Test",
	})
	if _, err := controller.CertificatesV1().CertificateSigningRequests().UpdateApproval(t.Context(), csr, signed,
		metav1.UpdateOptions{}); err != nil {
		t.Errorf("the controller cannot approve: %v", err)
	}
	csrtest.AwaitIssued(t, csr)
	csrtest.Delete(t, csr)
	for _, one := range []request{
		raw("GET", "/api/v1/namespaces/"+v1alpha1.Namespace+"/secrets", ""),
		raw("POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/"+v1alpha1.Namespace+"/roles?dryRun=All",
			`{"metadata": {"name": "x"}, "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]}`),
	} {
		if err := one.send(controller); err != nil {
			t.Errorf("the controller cannot %s: %v", one.name, err)
		}
	}
	forbid(t, "controller", controller, raw("POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/"+v1alpha1.Namespace+
		"/roles?dryRun=All", `{"metadata": {"name": "x"}, "rules": [{"apiGroups": [""], "resources": ["pods"], `+
		`"verbs": ["get"]}]}`), raw("POST", enrollmentsPath, "{}"))

	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace, Name: "namespace-admin"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "namespace-admin"}},
	}
	if err := adminClient(t).Create(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = adminClient(t).Delete(context.Background(), binding) })
	namespaced := authorizationv1.ResourceAttributes{
		Verb: "create", Resource: "serviceaccounts", Subresource: "token", Namespace: v1alpha1.Namespace,
		Name: rights.Controller,
	}
	waittest.Until(t, "waiting for the right to get the credential of the controller", func() (any, bool) {
		return namespaced, csrtest.Allowed(t, "namespace-admin", namespaced)
	})
	for _, right := range []authorizationv1.ResourceAttributes{
		{Verb: "create", Group: "hcp-node-agent.io", Resource: "nodeenrollments"},
		{Verb: "update", Group: "certificates.k8s.io", Resource: "certificatesigningrequests", Subresource: "approval"},
		{Verb: "patch", Resource: "nodes", Name: "any"},
		{Verb: "get", Resource: "secrets", Namespace: "kube-system", Name: "any"},
	} {
		if csrtest.Allowed(t, "namespace-admin", right) {
			t.Errorf("rights in the namespace include %+v", right)
		}
	}
}
