// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
)

func withCondition(csr *kube.CSR, kind certificatesv1.RequestConditionType) *kube.CSR {
	csr = csr.DeepCopy()
	csr.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: kind, Reason: "why"}}
	return csr
}

func TestConfirm(t *testing.T) {
	key, other := certtest.NewKey(t), certtest.NewKey(t)
	fingerprint := enrollment.Fingerprint(&key.PublicKey)
	own, foreign := validClientCSR(key).csr(t), validClientCSR(other).csr(t)
	misused := own.DeepCopy()
	misused.Spec.Usages = []certificatesv1.KeyUsage{"digital signature", "server auth"}
	approved := withCondition(own, certificatesv1.CertificateApproved)
	denied := withCondition(own, certificatesv1.CertificateDenied)
	serving, moved := validServingCSR(key), validServingCSR(key)
	moved.request.IPAddresses = moved.request.IPAddresses[:1]
	absent, exists := Facts{Node: &NodeState{}}, Facts{Node: &NodeState{Exists: true, IsReady: true}}
	for name, test := range map[string]struct {
		all       []*kube.CSR
		facts     Facts
		confirmed int
		state     CSRState
		want      string // of the error
	}{
		"none":           {nil, absent, 0, "", "no CSR of worker-1 has the key " + fingerprint},
		"its own":        {[]*kube.CSR{own}, absent, 1, CSRPending, ""},
		"other keys":     {[]*kube.CSR{foreign, foreign, own}, absent, 1, CSRPending, ""},
		"only other key": {[]*kube.CSR{foreign}, absent, 0, "", "; pending CSRs have the keys SHA256:"},
		"a bad copy":     {[]*kube.CSR{misused}, absent, 0, "", "must not be approved: invalid usages"},
		"a bad copy that is approved": {
			[]*kube.CSR{withCondition(misused, certificatesv1.CertificateApproved)}, absent, 1, CSRApproved, "",
		},
		"a bad copy before":           {[]*kube.CSR{misused, own}, absent, 1, CSRPending, ""},
		"a good copy":                 {[]*kube.CSR{own, own}, absent, 2, CSRPending, ""},
		"approved":                    {[]*kube.CSR{approved}, absent, 1, CSRApproved, ""},
		"approved, and a copy":        {[]*kube.CSR{approved, own}, absent, 1, CSRPending, ""},
		"joined, and a copy":          {[]*kube.CSR{approved, own}, exists, 1, CSRApproved, ""},
		"Node exists":                 {[]*kube.CSR{own}, exists, 0, "", "Node worker-1 is Ready"},
		"denied":                      {[]*kube.CSR{denied}, absent, 0, "", "is already Denied (why)"},
		"denied, and requested again": {[]*kube.CSR{denied, own}, absent, 1, CSRPending, ""},
		"serving":                     {[]*kube.CSR{serving.csr(t), serving.csr(t)}, absent, 2, CSRPending, ""},
		"serving, with other addresses": {
			[]*kube.CSR{serving.csr(t), moved.csr(t)}, absent, 0, "", "the same key, but different addresses",
		},
		"serving, with other addresses than approved": {
			[]*kube.CSR{withCondition(serving.csr(t), certificatesv1.CertificateApproved), moved.csr(t)},
			absent, 0, "",
			"the same key, but different addresses",
		},
		"serving, with the key of the client": {[]*kube.CSR{own, serving.csr(t)}, absent, 0, "", "the same key"},
	} {
		var reviews []Review
		for _, csr := range test.all {
			reviews = append(reviews, NewReview(csr, "worker-1", EnrollmentFacts{}, test.facts))
		}
		confirmed, err := Confirm(reviews, "worker-1", fingerprint)
		if test.want != "" {
			if report.CodeOf(err) != report.ApprovalMissing || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: code %d, %v; want %q", name, report.CodeOf(err), err, test.want)
			}
			continue
		}
		if err != nil || len(confirmed) != test.confirmed || confirmed[0].State != test.state {
			t.Errorf("%s: %v, %d confirmed, %+v", name, err, len(confirmed), confirmed)
		}
	}
}

func TestCheckFingerprint(t *testing.T) {
	for text, isValid := range map[string]bool{
		"SHA256:" + strings.Repeat("0a", 32): true, "SHA256:" + strings.Repeat("0A", 32): false, "SHA256:0a": false,
		"": false, strings.Repeat("0a", 32): false, "SHA256:" + strings.Repeat("0a", 32) + "\n": false,
	} {
		if err := CheckFingerprint(text); (err == nil) != isValid {
			t.Errorf("%q: %v", text, err)
		}
	}
}
