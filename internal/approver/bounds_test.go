// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
)

// Texts that a requestor controls must not make a report or a stored reason longer than a few
// lines.
func TestReportedTextsAreTruncated(t *testing.T) {
	key, long := certtest.NewKey(t), strings.Repeat("a", 4000)
	ca := certtest.NewCA(t, "ca").PEM
	cluster, err := enrollment.CAHashes(ca)
	if err != nil {
		t.Fatal(err)
	}
	mine := issue(t, "worker-1", ca, time.Now())
	named := validClientCSR(key)
	named.request.Subject = nodeSubject(long)
	enrolled := validClientCSR(key)
	enrolled.request.DNSNames = []string{long, long}
	organized := validClientCSR(key)
	organized.request.Subject.Organization = []string{long}
	withToken := func(g *validCSR) *kube.CSR {
		csr := g.csr(t)
		csr.Annotations = mine.sign(t, cluster, key)
		return csr
	}
	for name, csr := range map[string]*kube.CSR{
		"a long name":         named.csr(t),
		"a long DNS name":     withToken(enrolled),
		"a long organization": withToken(organized),
	} {
		for _, finding := range NewReview(csr, "worker-1", EnrollmentFacts{Enrollments: byNode(mine.enrollment)},
			Facts{Now: mine.Expires.Add(-1), CAHashes: cluster}).Findings {
			if len(finding.Message) > maxReasonLength+3 {
				t.Errorf("%s: %+v", name, finding)
			}
		}
		if err := (ExpectedNode{NodeName: "worker-1", PublicKey: &key.PublicKey}).CheckClient(csr); err == nil ||
			len(err.Error()) > 600 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Requests that kubelet never sends are not parsed.
func TestPaddedRequestIsNotParsed(t *testing.T) {
	csr := validClientCSR(certtest.NewKey(t)).csr(t)
	if ParseCSR(csr).Node != "worker-1" {
		t.Fatal("a good one is not looked into")
	}
	for name, spoil := range map[string]func([]byte) []byte{
		"before": func(b []byte) []byte { return append([]byte("padding\n"), b...) },
		"behind": func(b []byte) []byte { return append(b, bytes.Repeat([]byte{' '}, maxRequestBytes)...) },
	} {
		padded := csr.DeepCopy()
		padded.Spec.Request = spoil(padded.Spec.Request)
		if in := ParseCSR(padded); in.Node != "" || in.PublicKey != nil {
			t.Errorf("%s: %+v", name, in)
		}
	}
}
