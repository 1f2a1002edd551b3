package approver

import (
	"bytes"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ticket"
)

// Texts that a requestor controls must not make a report or a stored reason longer than a few
// lines.
func TestWhatIsToldHasAnEnd(t *testing.T) {
	key, long := certtest.NewKey(t), strings.Repeat("a", 4000)
	ca := certtest.NewAuthority(t, "ca").PEM
	cluster, err := ticket.Authorities(ca)
	if err != nil {
		t.Fatal(err)
	}
	mine := issue(t, "worker-1", ca, time.Now(), time.Hour)
	named := clientOf(key)
	named.request.Subject = nodeSubject(long)
	claimed := clientOf(key)
	claimed.request.DNSNames = []string{long, long}
	organized := clientOf(key)
	organized.request.Subject.Organization = []string{long}
	ticketed := func(g *good) *certificatesv1.CertificateSigningRequest {
		csr := g.csr(t)
		csr.Annotations = mine.prove(t, cluster, key)
		return csr
	}
	for name, csr := range map[string]*certificatesv1.CertificateSigningRequest{
		"a long name":         named.csr(t),
		"a long DNS name":     ticketed(claimed),
		"a long organization": ticketed(organized),
	} {
		var told []Told
		a := &Approver{options: Options{Tell: func(one Told) { told = append(told, one) }}}
		d := Decide(csr, NewClaims([]*ticket.Claim{mine.claim}), Facts{Now: mine.Expires.Add(-1), Authorities: cluster})
		d.Reason += strings.Repeat("x", 4000) // as if a rule had returned a very long reason
		a.tellOf(csr, d)
		a.tellOf(csr, d)
		if len(told) != 1 || told[0].Reason == "" || len(told[0].Reason) > mostReason+3 || len(told[0].Node) > mostNode+3 {
			t.Errorf("%s: told %d times, %+v", name, len(told), told)
		}
		if err := (Want{NodeName: "worker-1", PublicKey: &key.PublicKey}).Client(csr); err == nil || len(err.Error()) > 600 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Requests that kubelet never sends are not parsed.
func TestPaddedRequestIsNotLookedInto(t *testing.T) {
	csr := clientOf(certtest.NewKey(t)).csr(t)
	if lookInto(csr).node != "worker-1" {
		t.Fatal("a good one is not looked into")
	}
	for name, spoil := range map[string]func([]byte) []byte{
		"before": func(b []byte) []byte { return append([]byte("padding\n"), b...) },
		"behind": func(b []byte) []byte { return append(b, bytes.Repeat([]byte{' '}, mostRequestBytes)...) },
	} {
		padded := csr.DeepCopy()
		padded.Spec.Request = spoil(padded.Spec.Request)
		if in := lookInto(padded); in.node != "" || in.key != nil {
			t.Errorf("%s: %+v", name, in)
		}
	}
}
