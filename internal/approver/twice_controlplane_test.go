// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package approver

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/csrtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
)

func TestControlPlaneEnrolledNodeGetsCertificates(t *testing.T) {
	s := newTestCluster(t)
	made := s.newToken("enrolled", csrtest.ClusterCA(t), 0, "192.0.2.20", "2001:db8::20")
	csr, key := csrtest.SubmitWithToken(t, made)
	s.runOnce()
	if recorded := s.lastEvent(csr); csrtest.Conditions(t, csr) != approvedByAgent || recorded.Outcome != Approved ||
		recorded.TokenID != made.ID ||
		recorded.Key != enrollment.Fingerprint(&key.PublicKey) {
		t.Fatalf("the CSR is %q: %+v", csrtest.Conditions(t, csr), recorded)
	}
	csrtest.AwaitIssued(t, csr)

	node := csrtest.NodeClient(t, "enrolled")
	serving := func() string {
		return submit(t, node, certtest.NewKey(t), certificatesv1.KubeletServingSignerName, certificatesv1.UsageServerAuth,
			nodeSubject("enrolled"), []string{"enrolled"}, net.ParseIP("192.0.2.20"), net.ParseIP("2001:db8::20"))
	}
	first := serving()
	csrtest.CreateNode(t, "enrolled", "192.0.2.20") // the node's own Node
	s.runOnce()
	renewal := serving()
	s.runOnce()
	for _, name := range []string{first, renewal} {
		if csrtest.Conditions(t, name) != approvedByAgent {
			t.Errorf("the serving CSR is %q: %+v", csrtest.Conditions(t, name), s.lastEvent(name))
		}
	}

	// A restarted approver must change nothing.
	noted, lines := usageRecordsResourceVersion(t), len(s.allEvents())
	s.runOnce()
	for _, recorded := range s.allEvents()[lines:] {
		if recorded.Node == "enrolled" {
			t.Errorf("reported again: %+v", recorded)
		}
	}
	if usageRecordsResourceVersion(t) != noted {
		t.Error("a restart has changed the ConfigMap")
	}
}

// Copies of a node's CSR are not approved, neither before nor after the node's own. The same key
// is approved again, for example after garbage collection of the first CSR.
func TestControlPlaneApprovesOneCSRForAKey(t *testing.T) {
	s := newTestCluster(t)
	made := s.newToken("again", csrtest.ClusterCA(t), 0)
	first, key := csrtest.SubmitWithToken(t, made)
	var copies []string
	submitCopies := func(prefix string) {
		for n := range 20 {
			copies = append(copies, csrtest.ClientRequest{
				Client: csrtest.Bootstrapper(t), Key: key, Node: "again", Name: fmt.Sprintf("%s-%02d", prefix, n),
				Annotations: csrtest.Sign(t, made, csrtest.ClusterCA(t), &key.PublicKey),
			}.Submit(t))
		}
	}
	submitCopies("aa")
	s.runOnce()
	submitCopies("zz")
	s.runOnce()
	for _, name := range copies {
		if got := csrtest.Conditions(t, name); got != "" || s.lastEvent(name).Outcome != Refused {
			t.Errorf("the copy %s is %q: %+v", name, got, s.lastEvent(name))
		}
	}
	noted := usageRecordsResourceVersion(t)
	if csrtest.Conditions(t, first) != approvedByAgent {
		t.Fatalf("the node's own CSR is %q: %+v", csrtest.Conditions(t, first), s.lastEvent(first))
	}
	if err := kubetest.AdminClient(t).CertificatesV1().CertificateSigningRequests().Delete(t.Context(), first,
		metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	again := csrtest.ClientRequest{
		Client: csrtest.Bootstrapper(t), Key: key, Node: "again", Name: first,
		Annotations: csrtest.Sign(t, made, csrtest.ClusterCA(t), &key.PublicKey),
	}.Submit(t)
	s.runOnce()
	if csrtest.Conditions(t, again) != approvedByAgent || usageRecordsResourceVersion(t) != noted {
		t.Errorf("after the garbage collection of its CSR: %q; recorded again: %t", csrtest.Conditions(t, again),
			usageRecordsResourceVersion(t) != noted)
	}
}

func TestControlPlaneTwoApprovers(t *testing.T) {
	const count = 50
	s := newTestCluster(t)
	tokens := make([]*enrollment.Token, count)
	for n := range tokens {
		tokens[n] = s.newToken(fmt.Sprintf("two-%02d", n), csrtest.ClusterCA(t), 0)
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for range 2 {
		a := s.newApprover(fleetKubeconfig)
		running.Go(func() {
			if err := a.Watch(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	csrs := make([]string, count)
	for n, made := range tokens {
		csrs[n], _ = csrtest.SubmitWithToken(t, made)
	}
	for _, csr := range csrs {
		csrtest.AwaitIssued(t, csr)
	}
	stop()
	running.Wait()
	times := map[string]int{}
	for _, recorded := range s.allEvents() {
		if recorded.Outcome == Approved {
			times[recorded.CSR]++
		}
	}
	for _, csr := range csrs {
		if times[csr] != 1 || csrtest.Conditions(t, csr) != approvedByAgent {
			t.Errorf("%s was approved %d times, and is %q", csr, times[csr], csrtest.Conditions(t, csr))
		}
	}
}

// If an approver stops between the usage record and the approval, the node waits. The next
// approver approves the CSR, and the record rejects any other key.
func TestControlPlaneApproverStopsBeforeApproval(t *testing.T) {
	s := newTestCluster(t)
	made := s.newToken("between", csrtest.ClusterCA(t), 0)
	csr, _ := csrtest.SubmitWithToken(t, made)
	ending := s.newApprover(fleetKubeconfig)
	ending.loadEnrollments()
	csrs := kubetest.AdminClient(t).CertificatesV1().CertificateSigningRequests()
	found, err := csrs.Get(t.Context(), csr, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	all, was, fresh, err := ending.decideBatch(t.Context(), []*kube.CSR{found},
		&clusterFacts{connection: ending.connection})
	if err != nil || len(all) != 1 || len(fresh) != 1 {
		t.Fatalf("decision %+v, to be recorded: %v: %v", all, fresh, err)
	}
	if err := ending.usage.add(t.Context(), was, fresh); err != nil {
		t.Fatal(err)
	}
	if got := csrtest.Conditions(t, csr); got != "" {
		t.Fatalf("the CSR is %q already", got)
	}
	thief := certtest.NewKey(t)
	stolen := csrtest.ClientRequest{
		Client:      csrtest.Bootstrapper(t),
		Key:         thief,
		Node:        "between",
		Annotations: csrtest.Sign(t, made, csrtest.ClusterCA(t), &thief.PublicKey),
	}.Submit(t)
	s.runOnce()
	if csrtest.Conditions(t, csr) != approvedByAgent || csrtest.Conditions(t, stolen) != "" ||
		!strings.Contains(s.lastEvent(stolen).Reason, "was already used") {
		t.Errorf("the node's CSR is %q, the other one %q: %+v", csrtest.Conditions(t, csr), csrtest.Conditions(t, stolen),
			s.lastEvent(stolen))
	}
}

// The credential must not have more rights than the approver uses.
func TestControlPlaneRights(t *testing.T) {
	for _, no := range []authorizationv1.ResourceAttributes{
		{Verb: "get", Resource: "secrets", Namespace: "kube-system", Name: "x"},
		{Verb: "create", Resource: "configmaps", Namespace: DefaultNamespace},
		{Verb: "update", Resource: "configmaps", Namespace: DefaultNamespace, Name: "extension-apiserver-authentication"},
		{Verb: "list", Resource: "configmaps", Namespace: DefaultNamespace},
		{Verb: "update", Resource: "configmaps", Namespace: "default", Name: DefaultConfigMap},
		{Verb: "delete", Resource: "nodes", Name: "x"},
		{Verb: "create", Group: "certificates.k8s.io", Resource: "certificatesigningrequests"},
		{Verb: "delete", Group: "certificates.k8s.io", Resource: "certificatesigningrequests"},
		{Verb: "approve", Group: "certificates.k8s.io", Resource: "signers", Name: "kubernetes.io/kube-apiserver-client"},
		{Verb: "sign", Group: "certificates.k8s.io", Resource: "signers", Name: "kubernetes.io/kubelet-serving"},
	} {
		review, err := kubetest.AdminClient(t).AuthorizationV1().SubjectAccessReviews().Create(
			t.Context(),
			&authorizationv1.SubjectAccessReview{
				Spec: authorizationv1.SubjectAccessReviewSpec{
					User:               "system:serviceaccount:kube-system:hcp-node-admin-approver",
					ResourceAttributes: &no,
				},
			},
			metav1.CreateOptions{},
		)
		if err != nil {
			t.Fatal(err)
		}
		if review.Status.Allowed {
			t.Errorf("it may %s %s %s", no.Verb, no.Resource, no.Name)
		}
	}
	// A credential without the rights must cause one clear error at the start.
	s := newTestCluster(t)
	err := s.newApprover(csrtest.Kubeconfig(t, kubetest.Plane.BootstrapKubeconfig)).Watch(kubetest.Context(t, time.Minute))
	if report.CodeOf(err) != report.CredentialRefused ||
		!strings.Contains(string(report.RemedyOf(err)), "deploy/approver-rbac.yaml") {
		t.Errorf("%v, code %d, remedy %q", err, report.CodeOf(err), report.RemedyOf(err))
	}
}

func TestControlPlaneWithoutTheConfigMap(t *testing.T) {
	s := newTestCluster(t)
	csrtest.SubmitWithToken(t, s.newToken("unnoted", csrtest.ClusterCA(t), 0))
	a := s.newApprover(csrtest.Kubeconfig(t, kubetest.Plane.Kubeconfig))
	a.usage.name = "another-one"
	err := a.Watch(kubetest.Context(t, time.Minute))
	if report.CodeOf(err) != report.Usage ||
		!strings.Contains(err.Error(),
			"ConfigMap kube-system/another-one, which records used join tokens, does not exist in the hosted cluster") ||
		!strings.Contains(string(report.RemedyOf(err)),
			"oc --kubeconfig hosted.kubeconfig apply -f deploy/approver-rbac.yaml") {
		t.Errorf("%v, code %d, remedy %q", err, report.CodeOf(err), report.RemedyOf(err))
	}
}
