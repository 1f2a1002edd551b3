//go:build controlplane

package approver

import (
	"context"
	"net"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/hcp-node-agent/hcp-node-agent/internal/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// limited returns a kubeconfig with an approver's rights, but with the right to approve only for
// the given signers.
func limited(t *testing.T, user string, signers ...string) []byte {
	t.Helper()
	rbac := adminClient(t).RbacV1()
	rules := []rbacv1.PolicyRule{
		{APIGroups: []string{"certificates.k8s.io"}, Resources: []string{"certificatesigningrequests"}, Verbs: []string{"get", "list", "watch"}},
		{APIGroups: []string{"certificates.k8s.io"}, Resources: []string{"certificatesigningrequests/approval"}, Verbs: []string{"update"}},
		{APIGroups: []string{""}, Resources: []string{"nodes", "configmaps"}, Verbs: []string{"get", "list", "update"}},
	}
	for _, signer := range signers {
		rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{"certificates.k8s.io"}, Resources: []string{"signers"}, ResourceNames: []string{signer}, Verbs: []string{"approve"}})
	}
	if _, err := rbac.ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: rules}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := rbac.ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	who := client(t, plane.Kubeconfig, rest.ImpersonationConfig{UserName: user})
	until(t, "the rights of "+user, func() bool {
		_, err := who.CertificatesV1().CertificateSigningRequests().List(t.Context(), metav1.ListOptions{Limit: 1})
		return err == nil
	})
	file, err := clientcmd.Load(kubeconfigAt(t, plane.Kubeconfig))
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

// A CSR that must not be approved does not delay others, is reported once and does not end the
// approver. A credential without any right to approve does end the approver.
func TestControlPlaneOneIsForbidden(t *testing.T) {
	s := newScene(t)
	in := s.ticket("forbidden", clusterCA(t), 0, "192.0.2.30")
	comeIn(t, in)
	s.once()
	node := client(t, plane.Kubeconfig, rest.ImpersonationConfig{UserName: "system:node:forbidden", Groups: []string{"system:nodes"}})
	bad := submit(t, node, certtest.NewKey(t), certificatesv1.KubeletServingSignerName, certificatesv1.UsageServerAuth, nodeSubject("forbidden"), []string{"forbidden"}, net.ParseIP("192.0.2.30"))

	none := s.approver(limited(t, "approves-nothing"))
	none.options.Ready = func() { t.Error("READY, with a credential that may approve nothing") }
	if err := none.Watch(within(t, time.Minute)); report.CodeOf(err) != report.CredentialRefused {
		t.Fatalf("Watch() = %v", err)
	}

	good, _ := comeIn(t, s.ticket("allowed", clusterCA(t), 0))
	half := s.approver(limited(t, "approves-clients", certificatesv1.KubeAPIServerClientKubeletSignerName))
	ready := make(chan struct{})
	half.options.Ready, half.soon = func() { close(ready) }, 100*time.Millisecond
	before := len(s.told())
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- half.Watch(ctx) }()
	select {
	case <-ready:
	case err := <-done:
		t.Fatalf("Watch() = %v", err)
	}
	issued(t, good)
	late, _ := comeIn(t, s.ticket("allowed-late", clusterCA(t), 0))
	issued(t, late)
	time.Sleep(3 * pollClaims) // long enough for the changed enrollments to cause a resync
	stop()
	if err := <-done; err != nil {
		t.Errorf("Watch() = %v", err)
	}
	times := 0
	for _, told := range s.told()[before:] {
		if told.CSR == bad {
			times++
		} else if told.Verdict == Warned {
			t.Errorf("told: %+v", told)
		}
	}
	if last := s.of(bad); times != 1 || last.Verdict != Warned || last.Node != "forbidden" || approvals(t, bad) != "" {
		t.Errorf("told %d times, %+v", times, last)
	}

	more, _ := comeIn(t, s.ticket("allowed-once", clusterCA(t), 0))
	if err := s.approver(limited(t, "approves-clients-once", certificatesv1.KubeAPIServerClientKubeletSignerName)).Once(t.Context()); report.CodeOf(err) != report.CredentialRefused || approvals(t, more) != byAgent {
		t.Errorf("Once() = %v; the CSR is %q", err, approvals(t, more))
	}
}
