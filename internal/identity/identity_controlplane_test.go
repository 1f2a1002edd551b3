// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package identity

import (
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

func TestControlPlaneManualApproval(t *testing.T) {
	identity, recorded := newIdentity(t, "by-hand")

	// Without approval the wait ends, with the exact command.
	_, err := identity.Obtain(recorded.DeadlineAt(t, awaitingApproval), nil)
	first := clientCSRsOf(t, "by-hand")
	if len(first) != 1 {
		t.Fatalf("%d CSRs, want 1", len(first))
	}
	csr := first[0]
	if report.CodeOf(err) != report.ApprovalMissing ||
		!strings.Contains(string(report.RemedyOf(err)), "oc adm certificate approve "+csr.Name) {
		t.Errorf("Obtain() = %v (code %d, remedy %q)", err, report.CodeOf(err), report.RemedyOf(err))
	}
	request, err := parseRequest(csr.Spec.Request)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{csr.Name, fingerprint(request.PublicKey), "\noc adm certificate approve " +
		csr.Name + "\n", "platform None"} {
		if !strings.Contains(recorded.Text(), want) {
			t.Errorf("%q was not printed while waiting:\n%s", want, recorded.Text())
		}
	}
	if _, err := os.Lstat(filepath.Dir(identity.Dir)); !os.IsNotExist(err) {
		t.Errorf("without a certificate kubelet's directory was touched: %v", err)
	}

	// The next run finds the same CSR, and continues when it is approved.
	type outcome struct {
		result Result
		err    error
	}
	done := make(chan outcome)
	go func() {
		result, err := identity.Obtain(waittest.Context(t), nil)
		done <- outcome{result, err}
	}()
	setCSRCondition(t, csr.Name, certificatesv1.CertificateApproved)
	got := <-done
	if got.err != nil || !got.result.Changed || got.result.CSR != csr.Name {
		t.Fatalf("Obtain() = %+v, %v", got.result, got.err)
	}
	if all := clientCSRsOf(t, "by-hand"); len(all) != 1 || all[0].UID != csr.UID {
		t.Errorf("there are %d CSRs, want the first one alone", len(all))
	}

	checkIdentityFiles(t, identity)
	if user := whoAmI(t, identity.Kubeconfig); user != "system:node:by-hand" {
		t.Errorf("the API server takes kubelet's kubeconfig for %q", user)
	}

	// Another run changes nothing.
	again, err := identity.Obtain(waittest.Context(t), nil)
	if err != nil || again.Changed || len(clientCSRsOf(t, "by-hand")) != 1 {
		t.Errorf("the second Obtain() = %+v, %v", again, err)
	}

	// All changes can be rolled back.
	if _, err := identity.Ledger.Undo(t.Context()); err != nil {
		t.Errorf("Undo() = %v", err)
	}
	if _, err := os.Lstat(filepath.Dir(identity.Dir)); !os.IsNotExist(err) {
		t.Errorf("after undo kubelet's directory still exists: %v", err)
	}
}

// checkIdentityFiles checks the files that kubelet will read.
func checkIdentityFiles(t *testing.T, identity *Identity) {
	t.Helper()
	if target, err := os.Readlink(identity.clientCertificatePath()); err != nil ||
		filepath.Dir(target) != identity.Dir {
		t.Errorf("kubelet-client-current.pem links to %q, %v", target, err)
	}
	for _, path := range []string{identity.clientCertificatePath(), identity.Kubeconfig} {
		if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: mode %v, %v; want 0600", path, info.Mode(), err)
		}
	}
	if _, err := os.Lstat(filepath.Join(identity.KeyDir, pendingKeyName)); !os.IsNotExist(err) {
		t.Errorf("the pending key still exists: %v", err)
	}
	if state, err := identity.Check(); state != Valid || err != nil {
		t.Errorf("Check() = %q, %v", state, err)
	}
}

func whoAmI(t *testing.T, kubeconfig string) string {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.Proxy = kubetest.NoProxy
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	review, err := client.AuthenticationV1().SelfSubjectReviews().Create(t.Context(),
		&authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return review.Status.UserInfo.Username
}

func TestControlPlaneDeniedCSRGetsNewKey(t *testing.T) {
	identity, _ := newIdentity(t, "denied")
	deny := func(_ context.Context, request ApprovalRequest) error {
		setCSRCondition(t, request.Name, certificatesv1.CertificateDenied)
		return nil
	}
	result, err := identity.Obtain(waittest.Context(t), deny)
	if report.CodeOf(err) != report.ApprovalMissing ||
		!strings.Contains(err.Error(), result.CSR+" is denied (ByHand: a person did this)") {
		t.Errorf("Obtain() = %v (code %d)", err, report.CodeOf(err))
	}
	// The next run submits a CSR with another key.
	second, err := identity.Obtain(waittest.Context(t), manualApprover(t))
	if err != nil || second.CSR == result.CSR {
		t.Errorf("Obtain() after a denial = %+v, %v", second, err)
	}
}

func TestControlPlaneDeniedBetweenRuns(t *testing.T) {
	identity, recorded := newIdentity(t, "denied-between")
	first, err := identity.Obtain(recorded.DeadlineAt(t, awaitingApproval), nil)
	if err == nil {
		t.Fatal("without an approval the identity exists")
	}
	setCSRCondition(t, first.CSR, certificatesv1.CertificateDenied)
	second, err := identity.Obtain(waittest.Context(t), manualApprover(t))
	if err != nil || second.CSR == first.CSR || !strings.Contains(recorded.Text(), "since an earlier run") {
		t.Errorf("Obtain() = %+v, %v; said:\n%s", second, err, recorded.Text())
	}
}

func TestControlPlaneResubmitsCSRDeletedWhileWaiting(t *testing.T) {
	identity, recorded := newIdentity(t, "deleted")
	offered := 0
	result, err := identity.Obtain(waittest.Context(t),
		func(ctx context.Context, request ApprovalRequest) error {
			if offered++; offered == 1 { // the cluster's CSR cleaner does this after a day
				return kubetest.AdminClient(t).CertificatesV1().CertificateSigningRequests().Delete(ctx, request.Name,
					metav1.DeleteOptions{})
			}
			return manualApprover(t)(ctx, request)
		})
	if err != nil || offered != 2 || !strings.Contains(recorded.Text(), result.CSR+" was deleted") {
		t.Errorf("Obtain() = %+v, %v after %d CSRs; said:\n%s", result, err, offered, recorded.Text())
	}
}

func TestControlPlaneRejectedCredentials(t *testing.T) {
	past := func(name pkix.Name) *x509.Certificate {
		return &x509.Certificate{
			Subject: name, NotBefore: time.Now().Add(-2 * time.Hour),
			NotAfter: time.Now().Add(-time.Hour),
		}
	}
	foreign := certtest.NewCA(t, "another cluster's signer")
	tests := map[string]struct {
		change func(*clientcmdapi.Cluster, *clientcmdapi.AuthInfo)
		code   report.Code
		want   string
		remedy string
	}{
		"expired": {
			change: kubetest.WithCredential(t, past(bootstrapperSubject())),
			code:   report.CredentialRefused,
			want:   "the bootstrap credential expired at",
			remedy: "current user data",
		},
		"of another cluster": {
			change: func(_ *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) {
				key := certtest.NewKey(t)
				user.ClientCertificateData, user.ClientKeyData = foreign.Issue(t, key,
					&x509.Certificate{Subject: bootstrapperSubject()}), certtest.KeyPEM(t, key)
			},
			code:   report.CredentialRefused,
			want:   "rejects the bootstrap credential (issued by \"CN=another cluster's signer,OU=openshift\"",
			remedy: "current user data",
		},
		"without the right": {
			change: kubetest.WithCredential(t, &x509.Certificate{Subject: pkix.Name{CommonName: "nobody"}}),
			code:   report.CredentialRefused,
			want:   `User "nobody" cannot create resource`,
			remedy: "oc create clusterrolebinding",
		},
		"wrong CA": {
			change: func(cluster *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
				cluster.CertificateAuthorityData = foreign.PEM
			},
			code:   report.Failed,
			want:   "which is not a trusted CA",
			remedy: "openssl s_client",
		},
		"nothing listens": {
			change: func(cluster *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
				cluster.Server = "https://127.0.0.1:1"
			},
			code:   report.Failed,
			want:   "refused the connection",
			remedy: "curl",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			identity, recorded := newIdentity(t, "refused")
			identity.BootstrapKubeconfig = kubetest.BootstrapKubeconfig(t, test.change)
			_, err := identity.Obtain(recorded.DeadlineAt(t, "waiting for the API server"), nil)
			if report.CodeOf(err) != test.code || !strings.Contains(err.Error(), test.want) ||
				!strings.Contains(string(report.RemedyOf(err)), test.remedy) {
				t.Errorf("Obtain() = %v\ncode %d, remedy %q\nwant %q, code %d, remedy %q", err, report.CodeOf(err),
					report.RemedyOf(err), test.want, test.code, test.remedy)
			}
			if _, err := os.Lstat(identity.Kubeconfig); !os.IsNotExist(err) {
				t.Errorf("a kubeconfig was written: %v", err)
			}
		})
	}
}
