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
	rbac := adminClient(t).RbacV1()
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
	who := client(t, plane.Kubeconfig, rest.ImpersonationConfig{UserName: user})
	eventually(t, "the permissions of "+user, func() bool {
		_, err := who.CertificatesV1().CertificateSigningRequests().List(t.Context(), metav1.ListOptions{Limit: 1})
		return err == nil
	})
	file, err := clientcmd.Load(readKubeconfig(t, plane.Kubeconfig))
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
	in := s.newToken("forbidden", clusterCA(t), 0, "192.0.2.30")
	submitWithToken(t, in)
	s.runOnce()
	node := client(t, plane.Kubeconfig,
		rest.ImpersonationConfig{UserName: "system:node:forbidden", Groups: []string{"system:nodes"}})
	bad := submit(t, node, certtest.NewKey(t), certificatesv1.KubeletServingSignerName, certificatesv1.UsageServerAuth,
		nodeSubject("forbidden"), []string{"forbidden"}, net.ParseIP("192.0.2.30"))

	none := s.newApprover(limitedKubeconfig(t, "approves-nothing"))
	none.options.OnReady = func() { t.Error("READY was reported with a credential that cannot approve CSRs") }
	if err := none.Watch(withTimeout(t, time.Minute)); report.CodeOf(err) != report.CredentialRefused {
		t.Fatalf("Watch() = %v", err)
	}

	good, _ := submitWithToken(t, s.newToken("allowed", clusterCA(t), 0))
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
	awaitIssued(t, good)
	late, _ := submitWithToken(t, s.newToken("allowed-late", clusterCA(t), 0))
	awaitIssued(t, late)
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
		csrConditions(t, bad) != "" {
		t.Errorf("reported %d times, %+v", times, last)
	}

	more, _ := submitWithToken(t, s.newToken("allowed-once", clusterCA(t), 0))
	if err := s.newApprover(limitedKubeconfig(t, "approves-clients-once",
		certificatesv1.KubeAPIServerClientKubeletSignerName)).Once(t.Context()); report.CodeOf(
		err,
	) != report.CredentialRefused ||
		csrConditions(t, more) != approvedByAgent {
		t.Errorf("Once() = %v; the CSR is %q", err, csrConditions(t, more))
	}
}

// A credential with the rights of an earlier release, which may not read the client CAs, still approves
// all other CSRs.
func TestControlPlaneUnreadableClientCAs(t *testing.T) {
	s := newTestCluster(t)
	submitWithToken(t, s.newToken("unverified", clusterCA(t), 0))
	s.runOnce()
	key := certtest.NewKey(t)
	expired := csrRequest{
		client: bootstrapClient(t), key: key, node: "unverified", name: clientCSRName(t, key, "unverified"),
		annotations: annotateCertificate(t, certtest.NewCA(t, "kube-csr-signer"), key, x509.Certificate{
			Subject: nodeSubject("unverified"), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
			NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(-time.Hour),
		}),
	}.submit(t)
	good, _ := submitWithToken(t, s.newToken("verified", clusterCA(t), 0))
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
	if got := csrConditions(t, good); got != approvedByAgent {
		t.Errorf("the other CSR is %q", got)
	}
	s.runOnce()
	if last := s.lastEvent(expired); last.Outcome != Refused ||
		!strings.Contains(last.Reason, "issued by a client CA of this cluster") {
		t.Errorf("with the rights of the manifest, the decision is %+v", last)
	}
}
