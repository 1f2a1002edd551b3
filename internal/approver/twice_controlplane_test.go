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

	"github.com/hcp-node-agent/hcp-node-agent/internal/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ticket"
)

func TestControlPlaneTicketIsApprovedAndIssued(t *testing.T) {
	s := newScene(t)
	made := s.ticket("ticketed", clusterCA(t), 0, "192.0.2.20", "2001:db8::20")
	csr, key := comeIn(t, made)
	s.once()
	if told := s.of(csr); approvals(t, csr) != byAgent || told.Verdict != Approve || told.Ticket != made.ID || told.Key != ticket.Fingerprint(&key.PublicKey) {
		t.Fatalf("%q, told %+v", approvals(t, csr), told)
	}
	issued(t, csr)

	node := client(t, plane.Kubeconfig, rest.ImpersonationConfig{UserName: "system:node:ticketed", Groups: []string{"system:nodes"}})
	serving := func() string {
		return submit(t, node, certtest.NewKey(t), certificatesv1.KubeletServingSignerName, certificatesv1.UsageServerAuth, nodeSubject("ticketed"), []string{"ticketed"},
			net.ParseIP("192.0.2.20"), net.ParseIP("2001:db8::20"))
	}
	first := serving()
	makeNode(t, "ticketed", "192.0.2.20") // the node's own Node
	s.once()
	renewal := serving()
	s.once()
	for _, name := range []string{first, renewal} {
		if approvals(t, name) != byAgent {
			t.Errorf("the serving CSR is %q: %+v", approvals(t, name), s.of(name))
		}
	}

	// A restarted approver must change nothing.
	noted, lines := notes(t), len(s.told())
	s.once()
	for _, told := range s.told()[lines:] {
		if told.Node == "ticketed" {
			t.Errorf("told again: %+v", told)
		}
	}
	if notes(t) != noted {
		t.Error("a restart has written the ConfigMap")
	}
}

// Copies of a node's CSR are not approved, neither before nor after the node's own. The same key
// is approved again, for example after garbage collection of the first CSR.
func TestControlPlaneApprovesOneCSRForAKey(t *testing.T) {
	s := newScene(t)
	made := s.ticket("again", clusterCA(t), 0)
	first, key := comeIn(t, made)
	var copies []string
	submitCopies := func(prefix string) {
		for n := range 20 {
			copies = append(copies, asked{
				who: bootstrapClient(t), key: key, node: "again", name: fmt.Sprintf("%s-%02d", prefix, n),
				annotations: prove(t, made, clusterCA(t), &key.PublicKey),
			}.submit(t))
		}
	}
	submitCopies("aa")
	s.once()
	submitCopies("zz")
	s.once()
	for _, name := range copies {
		if got := approvals(t, name); got != "" || s.of(name).Verdict != Refuse {
			t.Errorf("the copy %s is %q: %+v", name, got, s.of(name))
		}
	}
	noted := notes(t)
	if approvals(t, first) != byAgent {
		t.Fatalf("the node's own is %q: %+v", approvals(t, first), s.of(first))
	}
	if err := adminClient(t).CertificatesV1().CertificateSigningRequests().Delete(t.Context(), first, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	again := asked{
		who: bootstrapClient(t), key: key, node: "again", name: first, annotations: prove(t, made, clusterCA(t), &key.PublicKey),
	}.submit(t)
	s.once()
	if approvals(t, again) != byAgent || notes(t) != noted {
		t.Errorf("after its CSR was collected: %q; noted anew: %t", approvals(t, again), notes(t) != noted)
	}
}

func TestControlPlaneTwoApprovers(t *testing.T) {
	const count = 50
	s := newScene(t)
	tickets := make([]*ticket.Ticket, count)
	for n := range tickets {
		tickets[n] = s.ticket(fmt.Sprintf("two-%02d", n), clusterCA(t), 0)
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for range 2 {
		a := s.approver(fleetKubeconfig)
		running.Go(func() {
			if err := a.Watch(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	csrs := make([]string, count)
	for n, made := range tickets {
		csrs[n], _ = comeIn(t, made)
	}
	for _, csr := range csrs {
		issued(t, csr)
	}
	stop()
	running.Wait()
	times := map[string]int{}
	for _, told := range s.told() {
		if told.Verdict == Approve {
			times[told.CSR]++
		}
	}
	for _, csr := range csrs {
		if times[csr] != 1 || approvals(t, csr) != byAgent {
			t.Errorf("%s was approved %d times, and is %q", csr, times[csr], approvals(t, csr))
		}
	}
}

// If an approver stops between the usage record and the approval, the node waits. The next
// approver approves the CSR, and the record rejects any other key.
func TestControlPlaneApproverEndsInBetween(t *testing.T) {
	s := newScene(t)
	made := s.ticket("between", clusterCA(t), 0)
	csr, _ := comeIn(t, made)
	ending := s.approver(fleetKubeconfig)
	ending.loadClaims()
	found, err := adminClient(t).CertificatesV1().CertificateSigningRequests().Get(t.Context(), csr, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	all, was, fresh, err := ending.decide(t.Context(), []*certificatesv1.CertificateSigningRequest{found}, &lookout{connection: ending.connection})
	if err != nil || len(all) != 1 || len(fresh) != 1 {
		t.Fatalf("decided %+v, to be noted %v: %v", all, fresh, err)
	}
	if err := ending.bindings.add(t.Context(), was, fresh); err != nil {
		t.Fatal(err)
	}
	if got := approvals(t, csr); got != "" {
		t.Fatalf("the CSR is %q already", got)
	}
	thief := certtest.NewKey(t)
	stolen := asked{who: bootstrapClient(t), key: thief, node: "between", annotations: prove(t, made, clusterCA(t), &thief.PublicKey)}.submit(t)
	s.once()
	if approvals(t, csr) != byAgent || approvals(t, stolen) != "" || !strings.Contains(s.of(stolen).Reason, "was used already") {
		t.Errorf("the node's is %q, the thief's %q: %+v", approvals(t, csr), approvals(t, stolen), s.of(stolen))
	}
}

// The credential must not have more rights than the approver uses.
func TestControlPlaneRights(t *testing.T) {
	for _, no := range []authorizationv1.ResourceAttributes{
		{Verb: "get", Resource: "secrets", Namespace: "kube-system", Name: "x"},
		{Verb: "create", Resource: "configmaps", Namespace: DefaultNamespace},
		{Verb: "update", Resource: "configmaps", Namespace: DefaultNamespace, Name: "extension-apiserver-authentication"},
		{Verb: "update", Resource: "configmaps", Namespace: "default", Name: DefaultConfigMap},
		{Verb: "delete", Resource: "nodes", Name: "x"},
		{Verb: "create", Group: "certificates.k8s.io", Resource: "certificatesigningrequests"},
		{Verb: "delete", Group: "certificates.k8s.io", Resource: "certificatesigningrequests"},
		{Verb: "approve", Group: "certificates.k8s.io", Resource: "signers", Name: "kubernetes.io/kube-apiserver-client"},
		{Verb: "sign", Group: "certificates.k8s.io", Resource: "signers", Name: "kubernetes.io/kubelet-serving"},
	} {
		review, err := adminClient(t).AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{User: "system:serviceaccount:kube-system:hcp-node-agent-approver", ResourceAttributes: &no},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if review.Status.Allowed {
			t.Errorf("it may %s %s %s", no.Verb, no.Resource, no.Name)
		}
	}
	// A credential without the rights must cause one clear error at the start.
	s := newScene(t)
	err := s.approver(kubeconfigAt(t, plane.BootstrapKubeconfig)).Watch(within(t, time.Minute))
	if report.CodeOf(err) != report.CredentialRefused || !strings.Contains(report.RemedyOf(err), "deploy/approver-rbac.yaml") {
		t.Errorf("%v, code %d, remedy %q", err, report.CodeOf(err), report.RemedyOf(err))
	}
}

func TestControlPlaneWithoutTheConfigMap(t *testing.T) {
	s := newScene(t)
	comeIn(t, s.ticket("unnoted", clusterCA(t), 0))
	a := s.approver(kubeconfigAt(t, plane.Kubeconfig))
	a.bindings.name = "another-one"
	err := a.Watch(within(t, time.Minute))
	if report.CodeOf(err) != report.Usage || !strings.Contains(err.Error(), "has no ConfigMap kube-system/another-one") || !strings.Contains(report.RemedyOf(err), "oc apply -f deploy/approver-rbac.yaml") {
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
