// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
)

func TestPendingKeyIsReused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	first, err := loadOrCreateKey(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	again, err := loadOrCreateKey(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !first.private.Equal(again.private) {
		t.Error("the second run made another key")
	}
	for path, mode := range map[string]os.FileMode{dir: 0o700 | os.ModeDir, first.path: 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode() != mode {
			t.Errorf("mode of %s = %v, %v; want %v", path, info.Mode(), err, mode)
		}
	}
	if err := first.remove(); err != nil {
		t.Fatal(err)
	}
	if fresh, err := loadOrCreateKey(dir, nil); err != nil || fresh.private.Equal(first.private) {
		t.Errorf("after drop: the same key, or %v", err)
	}
}

// The CSR for the key of an expired certificate has a name that no other client can predict, and a later run
// finds it. The next CSR for that key has another name.
func TestPendingKeyOfExpiredCertificate(t *testing.T) {
	dir := t.TempDir()
	expired := &expiredPair{key: certtest.NewKey(t)}
	name := func() string {
		t.Helper()
		key, err := loadOrCreateKey(dir, expired)
		if err != nil || !key.private.Equal(expired.key) || !bytes.Equal(key.pem, certtest.KeyPEM(t, expired.key)) {
			t.Fatalf("loadOrCreateKey() = %+v, %v", key, err)
		}
		csr, err := newClientCSR(key, "worker-1")
		if err != nil {
			t.Fatal(err)
		}
		return csr.Name
	}
	first := name()
	if kubelets, err := enrollment.ClientCSRName(&expired.key.PublicKey, "worker-1"); err != nil || first == kubelets {
		t.Errorf("the CSR has the name %s that follows from the key, %v", first, err)
	}
	if again := name(); again != first {
		t.Errorf("a later run names the CSR %s, the first run %s", again, first)
	}
	key, err := loadKey(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := key.remove(); err != nil {
		t.Fatal(err)
	}
	if next := name(); next == first {
		t.Errorf("the next CSR has the same name %s", next)
	}
}

func TestPendingKeyReplacesInvalidFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, pendingKeyName), nil, 0o600); err != nil { // as a full disk leaves it
		t.Fatal(err)
	}
	if _, err := loadOrCreateKey(dir, nil); err != nil {
		t.Errorf("loadOrCreateKey() = %v, want a new key in place of an empty file", err)
	}
}

// A key of another version of the agent remains: a CSR that waits for approval can depend on it.
func TestPendingKeyOfAnotherVersionIsRefused(t *testing.T) {
	_, other, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(other)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(certtest.KeyPEM(t, certtest.NewKey(t)))
	block.Headers = map[string]string{"Future": "x"}
	for content, want := range map[string]string{
		string(pem.EncodeToMemory(block)):        `does not know the header "Future"`,
		string(certtest.PEM("PRIVATE KEY", der)): "contains a key of type ed25519.PrivateKey",
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, pendingKeyName)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		key, err := loadOrCreateKey(dir, nil)
		if key != nil || report.CodeOf(err) != report.Refused || !strings.Contains(err.Error(), want) ||
			report.RemedyOf(err) == "" {
			t.Errorf("loadOrCreateKey() = %v, %v (remedy %q), want %q", key, err, report.RemedyOf(err), want)
		}
		if after, err := os.ReadFile(path); err != nil || string(after) != content {
			t.Errorf("the key was changed: %q, %v", after, err)
		}
	}
}

func TestEvaluateCSR(t *testing.T) {
	ca := certtest.NewCA(t, "signer")
	key := &pendingKey{private: certtest.NewKey(t)}
	expected, err := newClientCSR(key, "worker-1")
	if err != nil {
		t.Fatal(err)
	}
	expected.Annotations = map[string]string{"proof": "of this node"}
	other, err := newClientCSR(&pendingKey{private: certtest.NewKey(t)}, "worker-1")
	if err != nil {
		t.Fatal(err)
	}
	good := ca.Issue(t, key.private, nodeCertificate("worker-1"))
	old := nodeCertificate("worker-1")
	old.NotBefore, old.NotAfter = time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)

	tests := map[string]struct {
		change func(*kube.CSR)
		want   phase
		detail string
	}{
		"new":      {change: func(*kube.CSR) {}, want: phasePending},
		"approved": {change: withConditions("Approved"), want: phaseApproved},
		"issued":   {change: withCertificate(good, "Approved"), want: phaseIssued},
		"denied":   {change: withConditions("Denied"), want: phaseDenied, detail: "Because: of this"},
		"approved and denied": {
			change: withConditions("Approved", "Denied"), want: phaseDenied,
			detail: "Because: of this",
		},
		"failed": {
			change: withConditions("Approved", "Failed"), want: phaseFailed,
			detail: "Because: of this",
		},
		"expired": {
			change: withCertificate(ca.Issue(t, key.private, old), "Approved"),
			want:   phaseExpired, detail: "expired",
		},
		"certificate of other": {change: withCertificate(ca.Issue(t, certtest.NewKey(t), nodeCertificate("worker-1")),
			"Approved"), want: phaseCertificateMismatch, detail: "another key"},
		"for another node": {change: withCertificate(ca.Issue(t, key.private, nodeCertificate("worker-2")),
			"Approved"), want: phaseCertificateMismatch, detail: "worker-2"},
		"rubbish issued": {
			change: withCertificate([]byte("rubbish"), "Approved"),
			want:   phaseCertificateMismatch, detail: "does not contain any valid RSA or ECDSA certificates",
		},
		"another key": {
			change: func(c *kube.CSR) { c.Spec.Request = other.Spec.Request },
			want:   phaseKeyMismatch,
			detail: "another key",
		},
		"another signer": {
			change: func(c *kube.CSR) { c.Spec.SignerName = "kubernetes.io/x" },
			want:   phaseKeyMismatch,
			detail: "kubernetes.io/x",
		},
		"other usages": {
			change: func(c *kube.CSR) {
				c.Spec.Usages = []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth}
			},
			want:   phaseKeyMismatch,
			detail: "server auth",
		},
		"without the proof": {change: withoutAnnotations, want: phaseAnnotationMismatch, detail: "cannot be changed"},
		"without the proof, denied": {
			change: func(c *kube.CSR) { withoutAnnotations(c); withConditions("Denied")(c) },
			want:   phaseAnnotationMismatch,
			detail: "denied: Because: of this",
		},
		"without the proof, but issued": {
			change: func(c *kube.CSR) {
				withoutAnnotations(c)
				withCertificate(good, "Approved")(c)
			},
			want: phaseIssued,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			found := expected.DeepCopy()
			test.change(found)
			got := evaluateCSR(found, expected, metav1.Now())
			if got.phase != test.want || !strings.Contains(got.detail, test.detail) {
				t.Errorf("evaluateCSR() = %q (%s), want %q (%s)", got.phase, got.detail, test.want, test.detail)
			}
		})
	}
	if got := evaluateCSR(nil, expected, metav1.Now()); got.phase != phaseAbsent {
		t.Errorf("assess(nil) = %q", got.phase)
	}
}

func withoutAnnotations(c *kube.CSR) { c.Annotations = nil }

func withConditions(types ...string) func(*kube.CSR) {
	return func(c *kube.CSR) {
		for _, kind := range types {
			c.Status.Conditions = append(c.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
				Type:    certificatesv1.RequestConditionType(kind),
				Status:  "True",
				Reason:  "Because",
				Message: "of this",
			})
		}
	}
}

func withCertificate(certificate []byte, types ...string) func(*kube.CSR) {
	return func(c *kube.CSR) {
		withConditions(types...)(c)
		c.Status.Certificate = certificate
	}
}
