package kubelet

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/certtest"
)

func TestPendingKeyIsKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	first, err := loadOrMakeKey(dir)
	if err != nil {
		t.Fatal(err)
	}
	again, err := loadOrMakeKey(dir)
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
	if err := first.drop(); err != nil {
		t.Fatal(err)
	}
	if fresh, err := loadOrMakeKey(dir); err != nil || fresh.private.Equal(first.private) {
		t.Errorf("after drop: the same key, or %v", err)
	}
}

func TestPendingKeyReplacesRubbish(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, pendingKeyName), nil, 0o600); err != nil { // as a full disk leaves it
		t.Fatal(err)
	}
	if _, err := loadOrMakeKey(dir); err != nil {
		t.Errorf("loadOrMakeKey() = %v, want a new key in place of an empty file", err)
	}
}

func TestAssess(t *testing.T) {
	ca := certtest.NewAuthority(t, "signer")
	key := &pendingKey{private: certtest.NewKey(t)}
	ours, err := clientRequest(key, "worker-1")
	if err != nil {
		t.Fatal(err)
	}
	other, err := clientRequest(&pendingKey{private: certtest.NewKey(t)}, "worker-1")
	if err != nil {
		t.Fatal(err)
	}
	good := ca.Issue(t, key.private, nodeCertificate("worker-1"))
	old := nodeCertificate("worker-1")
	old.NotBefore, old.NotAfter = time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)

	tests := map[string]struct {
		change func(*certificatesv1.CertificateSigningRequest)
		want   phase
		detail string
	}{
		"new":                  {func(*certificatesv1.CertificateSigningRequest) {}, pending, ""},
		"approved":             {conditions("Approved"), approved, ""},
		"issued":               {issue(good, "Approved"), issued, ""},
		"denied":               {conditions("Denied"), denied, "Because: of this"},
		"approved and denied":  {conditions("Approved", "Denied"), denied, "Because: of this"},
		"failed":               {conditions("Approved", "Failed"), failed, "Because: of this"},
		"expired":              {issue(ca.Issue(t, key.private, old), "Approved"), outOfDate, "expired"},
		"certificate of other": {issue(ca.Issue(t, certtest.NewKey(t), nodeCertificate("worker-1")), "Approved"), notAskedFor, "another key"},
		"for another node":     {issue(ca.Issue(t, key.private, nodeCertificate("worker-2")), "Approved"), notAskedFor, "worker-2"},
		"rubbish issued":       {issue([]byte("rubbish"), "Approved"), notAskedFor, "none in PEM"},
		"somebody else's key":  {func(c *certificatesv1.CertificateSigningRequest) { c.Spec.Request = other.Spec.Request }, somebodys, "another key"},
		"another signer":       {func(c *certificatesv1.CertificateSigningRequest) { c.Spec.SignerName = "kubernetes.io/x" }, somebodys, "kubernetes.io/x"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			found := ours.DeepCopy()
			test.change(found)
			got := assess(found, ours, metav1.Now())
			if got.phase != test.want || !strings.Contains(got.detail, test.detail) {
				t.Errorf("assess() = %q (%s), want %q (%s)", got.phase, got.detail, test.want, test.detail)
			}
		})
	}
	if got := assess(nil, ours, metav1.Now()); got.phase != absent {
		t.Errorf("assess(nil) = %q", got.phase)
	}
}

func conditions(types ...string) func(*certificatesv1.CertificateSigningRequest) {
	return func(c *certificatesv1.CertificateSigningRequest) {
		for _, kind := range types {
			c.Status.Conditions = append(c.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
				Type: certificatesv1.RequestConditionType(kind), Status: "True", Reason: "Because", Message: "of this",
			})
		}
	}
}

func issue(certificate []byte, types ...string) func(*certificatesv1.CertificateSigningRequest) {
	return func(c *certificatesv1.CertificateSigningRequest) {
		conditions(types...)(c)
		c.Status.Certificate = certificate
	}
}
