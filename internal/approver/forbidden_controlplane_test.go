// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package approver

import (
	"context"
	"crypto/x509"
	"net"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/csrtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
)

// limitedKubeconfig returns a kubeconfig with an approver's rights, but with the right to approve only for
// the given signers.
func limitedKubeconfig(t *testing.T, user string, signers ...string) []byte {
	t.Helper()
	var rules []rbacv1.PolicyRule
	for _, signer := range signers {
		rules = append(
			rules,
			rbacv1.PolicyRule{
				APIGroups:     []string{"certificates.k8s.io"},
				Resources:     []string{"signers"},
				ResourceNames: []string{signer},
				Verbs:         []string{"approve"},
			},
		)
	}
	return impersonatingKubeconfig(t, user, rules...)
}

// impersonatingKubeconfig returns a kubeconfig of a user with the rights to read and update CSRs, to read
// Nodes and to use the ConfigMap of the usage records, and with more rights.
func impersonatingKubeconfig(t *testing.T, user string, more ...rbacv1.PolicyRule) []byte {
	t.Helper()
	rbac := kubetest.AdminClient(t).RbacV1()
	rules := append([]rbacv1.PolicyRule{
		{
			APIGroups: []string{"certificates.k8s.io"},
			Resources: []string{"certificatesigningrequests"},
			Verbs:     []string{"get", "list", "watch"},
		},
		{
			APIGroups: []string{"certificates.k8s.io"},
			Resources: []string{"certificatesigningrequests/approval"},
			Verbs:     []string{"update"},
		},
		{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"get", "list"}},
		{
			APIGroups:     []string{""},
			Resources:     []string{"configmaps"},
			ResourceNames: []string{DefaultConfigMap},
			Verbs:         []string{"get", "update"},
		},
	}, more...)
	if _, err := rbac.ClusterRoles().Create(t.Context(),
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: rules}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := rbac.ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	who := csrtest.Client(t, rest.ImpersonationConfig{UserName: user})
	kubetest.WaitUntil(t, "the permissions of "+user, func() bool {
		_, err := who.CertificatesV1().CertificateSigningRequests().List(t.Context(), metav1.ListOptions{Limit: 1})
		return err == nil
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

// A CSR that must not be approved does not delay others, is reported once and does not end the
// approver. A credential without any right to approve does end the approver.
func TestControlPlaneForbiddenCSRDoesNotBlockOthers(t *testing.T) {
	s := newTestCluster(t)
	in := s.newToken("forbidden", csrtest.ClusterCA(t), 0, "192.0.2.30")
	csrtest.SubmitWithToken(t, in)
	s.runOnce()
	node := csrtest.NodeClient(t, "forbidden")
	bad := submit(t, node, certtest.NewKey(t), certificatesv1.KubeletServingSignerName, certificatesv1.UsageServerAuth,
		nodeSubject("forbidden"), []string{"forbidden"}, net.ParseIP("192.0.2.30"))

	none := s.newApprover(limitedKubeconfig(t, "approves-nothing"))
	none.options.OnReady = func() { t.Error("READY was reported with a credential that cannot approve CSRs") }
	if err := none.Watch(kubetest.Context(t, time.Minute)); report.CodeOf(err) != report.CredentialRefused {
		t.Fatalf("Watch() = %v", err)
	}

	good, _ := csrtest.SubmitWithToken(t, s.newToken("allowed", csrtest.ClusterCA(t), 0))
	half := s.newApprover(limitedKubeconfig(t, "approves-clients", certificatesv1.KubeAPIServerClientKubeletSignerName))
	ready := make(chan struct{})
	half.options.OnReady, half.initialResyncDelay = func() { close(ready) }, 100*time.Millisecond
	before := len(s.allEvents())
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- half.Watch(ctx) }()
	select {
	case <-ready:
	case err := <-done:
		t.Fatalf("Watch() = %v", err)
	}
	csrtest.AwaitIssued(t, good)
	late, _ := csrtest.SubmitWithToken(t, s.newToken("allowed-late", csrtest.ClusterCA(t), 0))
	csrtest.AwaitIssued(t, late)
	time.Sleep(3 * enrollmentPollInterval) // long enough for the changed enrollments to cause a resync
	stop()
	if err := <-done; err != nil {
		t.Errorf("Watch() = %v", err)
	}
	times := 0
	for _, recorded := range s.allEvents()[before:] {
		if recorded.CSR == bad {
			times++
		} else if recorded.Outcome == Warning {
			t.Errorf("reported: %+v", recorded)
		}
	}
	if last := s.lastEvent(bad); times != 1 || last.Outcome != Warning || last.Node != "forbidden" ||
		csrtest.Conditions(t, bad) != "" {
		t.Errorf("reported %d times, %+v", times, last)
	}

	more, _ := csrtest.SubmitWithToken(t, s.newToken("allowed-once", csrtest.ClusterCA(t), 0))
	if err := s.newApprover(limitedKubeconfig(t, "approves-clients-once",
		certificatesv1.KubeAPIServerClientKubeletSignerName)).Once(t.Context()); report.CodeOf(
		err,
	) != report.CredentialRefused ||
		csrtest.Conditions(t, more) != approvedByAgent {
		t.Errorf("Once() = %v; the CSR is %q", err, csrtest.Conditions(t, more))
	}
}

// A credential with the rights of an earlier release, which may not read the client CAs, still approves
// all other CSRs.
func TestControlPlaneUnreadableClientCAs(t *testing.T) {
	s := newTestCluster(t)
	csrtest.SubmitWithToken(t, s.newToken("unverified", csrtest.ClusterCA(t), 0))
	s.runOnce()
	key := certtest.NewKey(t)
	expired := csrtest.ClientRequest{
		Client: csrtest.Bootstrapper(t), Key: key, Node: "unverified", Name: csrtest.Name(t, key, "unverified"),
		Annotations: csrtest.AnnotateCertificate(t, certtest.NewCA(t, "kube-csr-signer"), key, x509.Certificate{
			Subject: nodeSubject("unverified"), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
			NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(-time.Hour),
		}),
	}.Submit(t)
	good, _ := csrtest.SubmitWithToken(t, s.newToken("verified", csrtest.ClusterCA(t), 0))
	kubeconfig := impersonatingKubeconfig(t, "earlier-rights", rbacv1.PolicyRule{
		APIGroups: []string{"certificates.k8s.io"}, Resources: []string{"signers"}, Verbs: []string{"approve"},
		ResourceNames: []string{certificatesv1.KubeAPIServerClientKubeletSignerName},
	})
	if err := s.newApprover(kubeconfig).Once(t.Context()); err != nil && report.CodeOf(err) != report.CredentialRefused {
		t.Fatal(err)
	}
	last := s.lastEvent(expired)
	if last.Outcome != Ignored || !strings.Contains(last.Reason, "cannot be verified") ||
		!strings.Contains(string(last.Remedy), "approver-rbac.yaml") {
		t.Errorf("the decision is %+v", last)
	}
	if got := csrtest.Conditions(t, good); got != approvedByAgent {
		t.Errorf("the other CSR is %q", got)
	}
	s.runOnce()
	if last := s.lastEvent(expired); last.Outcome != Refused ||
		!strings.Contains(last.Reason, "issued by a client CA of this cluster") {
		t.Errorf("with the rights of the manifest, the decision is %+v", last)
	}
}
