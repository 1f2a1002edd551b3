// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package approver

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
)

func TestControlPlaneEnrolledNodeGetsCertificates(t *testing.T) {
	s := newTestCluster(t)
	made := s.newToken("enrolled", clusterCA(t), 0, "192.0.2.20", "2001:db8::20")
	csr, key := submitWithToken(t, made)
	s.runOnce()
	if recorded := s.lastEvent(csr); csrConditions(t, csr) != approvedByAgent || recorded.Outcome != Approved ||
		recorded.TokenID != made.ID ||
		recorded.Key != enrollment.Fingerprint(&key.PublicKey) {
		t.Fatalf("the CSR is %q: %+v", csrConditions(t, csr), recorded)
	}
	awaitIssued(t, csr)

	node := client(t, plane.Kubeconfig,
		rest.ImpersonationConfig{UserName: "system:node:enrolled", Groups: []string{"system:nodes"}})
	serving := func() string {
		return submit(t, node, certtest.NewKey(t), certificatesv1.KubeletServingSignerName, certificatesv1.UsageServerAuth,
			nodeSubject("enrolled"), []string{"enrolled"}, net.ParseIP("192.0.2.20"), net.ParseIP("2001:db8::20"))
	}
	first := serving()
	createNode(t, "enrolled", "192.0.2.20") // the node's own Node
	s.runOnce()
	renewal := serving()
	s.runOnce()
	for _, name := range []string{first, renewal} {
		if csrConditions(t, name) != approvedByAgent {
			t.Errorf("the serving CSR is %q: %+v", csrConditions(t, name), s.lastEvent(name))
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
	made := s.newToken("again", clusterCA(t), 0)
	first, key := submitWithToken(t, made)
	var copies []string
	submitCopies := func(prefix string) {
		for n := range 20 {
			copies = append(copies, csrRequest{
				client: bootstrapClient(t), key: key, node: "again", name: fmt.Sprintf("%s-%02d", prefix, n),
				annotations: sign(t, made, clusterCA(t), &key.PublicKey),
			}.submit(t))
		}
	}
	submitCopies("aa")
	s.runOnce()
	submitCopies("zz")
	s.runOnce()
	for _, name := range copies {
		if got := csrConditions(t, name); got != "" || s.lastEvent(name).Outcome != Refused {
			t.Errorf("the copy %s is %q: %+v", name, got, s.lastEvent(name))
		}
	}
	noted := usageRecordsResourceVersion(t)
	if csrConditions(t, first) != approvedByAgent {
		t.Fatalf("the node's own CSR is %q: %+v", csrConditions(t, first), s.lastEvent(first))
	}
	if err := adminClient(t).CertificatesV1().CertificateSigningRequests().Delete(t.Context(), first,
		metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	again := csrRequest{
		client: bootstrapClient(
			t,
		), key: key, node: "again", name: first, annotations: sign(t, made, clusterCA(t), &key.PublicKey),
	}.submit(t)
	s.runOnce()
	if csrConditions(t, again) != approvedByAgent || usageRecordsResourceVersion(t) != noted {
		t.Errorf("after the garbage collection of its CSR: %q; recorded again: %t", csrConditions(t, again),
			usageRecordsResourceVersion(t) != noted)
	}
}

func TestControlPlaneTwoApprovers(t *testing.T) {
	const count = 50
	s := newTestCluster(t)
	tokens := make([]*enrollment.Token, count)
	for n := range tokens {
		tokens[n] = s.newToken(fmt.Sprintf("two-%02d", n), clusterCA(t), 0)
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
		csrs[n], _ = submitWithToken(t, made)
	}
	for _, csr := range csrs {
		awaitIssued(t, csr)
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
		if times[csr] != 1 || csrConditions(t, csr) != approvedByAgent {
			t.Errorf("%s was approved %d times, and is %q", csr, times[csr], csrConditions(t, csr))
		}
	}
}

// If an approver stops between the usage record and the approval, the node waits. The next
// approver approves the CSR, and the record rejects any other key.
func TestControlPlaneApproverStopsBeforeApproval(t *testing.T) {
	s := newTestCluster(t)
	made := s.newToken("between", clusterCA(t), 0)
	csr, _ := submitWithToken(t, made)
	ending := s.newApprover(fleetKubeconfig)
	ending.loadEnrollments()
	found, err := adminClient(t).CertificatesV1().CertificateSigningRequests().Get(t.Context(), csr, metav1.GetOptions{})
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
	if got := csrConditions(t, csr); got != "" {
		t.Fatalf("the CSR is %q already", got)
	}
	thief := certtest.NewKey(t)
	stolen := csrRequest{
		client:      bootstrapClient(t),
		key:         thief,
		node:        "between",
		annotations: sign(t, made, clusterCA(t), &thief.PublicKey),
	}.submit(
		t,
	)
	s.runOnce()
	if csrConditions(t, csr) != approvedByAgent || csrConditions(t, stolen) != "" ||
		!strings.Contains(s.lastEvent(stolen).Reason, "was already used") {
		t.Errorf("the node's CSR is %q, the other one %q: %+v", csrConditions(t, csr), csrConditions(t, stolen),
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
		review, err := adminClient(
			t,
		).AuthorizationV1().SubjectAccessReviews().Create(
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
	err := s.newApprover(readKubeconfig(t, plane.BootstrapKubeconfig)).Watch(withTimeout(t, time.Minute))
	if report.CodeOf(err) != report.CredentialRefused ||
		!strings.Contains(string(report.RemedyOf(err)), "deploy/approver-rbac.yaml") {
		t.Errorf("%v, code %d, remedy %q", err, report.CodeOf(err), report.RemedyOf(err))
	}
}

func TestControlPlaneWithoutTheConfigMap(t *testing.T) {
	s := newTestCluster(t)
	submitWithToken(t, s.newToken("unnoted", clusterCA(t), 0))
	a := s.newApprover(readKubeconfig(t, plane.Kubeconfig))
	a.usage.name = "another-one"
	err := a.Watch(withTimeout(t, time.Minute))
	if report.CodeOf(err) != report.Usage ||
		!strings.Contains(err.Error(),
			"ConfigMap kube-system/another-one, which records used join tokens, does not exist in the hosted cluster") ||
		!strings.Contains(string(report.RemedyOf(err)),
			"oc --kubeconfig hosted.kubeconfig apply -f deploy/approver-rbac.yaml") {
		t.Errorf("%v, code %d, remedy %q", err, report.CodeOf(err), report.RemedyOf(err))
	}
}

// otherCA returns the CA of another cluster.
func otherCA(t *testing.T) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(filepath.Dir(plane.ClusterCA), "csr-signer.crt"))
	if err != nil {
		t.Fatal(err)
	}
	return content
}
