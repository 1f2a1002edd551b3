// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"slices"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
)

func withCondition(csr *kube.CSR, kind certificatesv1.RequestConditionType) *kube.CSR {
	csr = csr.DeepCopy()
	csr.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: kind}}
	return csr
}

func TestClassifyClientCSRs(t *testing.T) {
	key, other := certtest.NewKey(t), certtest.NewKey(t)
	node := ManualApproval{NodeName: "worker-1", Fingerprint: enrollment.Fingerprint(&key.PublicKey)}
	own, foreign := validClientCSR(key).csr(t), validClientCSR(other).csr(t)
	misused := own.DeepCopy()
	misused.Spec.Usages = []certificatesv1.KeyUsage{"digital signature", "server auth"}
	renamed := validClientCSR(key)
	renamed.request.Subject = nodeSubject("worker-2")
	approved, denied := withCondition(own, certificatesv1.CertificateApproved), withCondition(own,
		certificatesv1.CertificateDenied)
	for name, test := range map[string]struct {
		all                       []*kube.CSR
		waiting, approved, others int
		refused                   bool
	}{
		"none":                      {nil, 0, 0, 0, false},
		"its own":                   {[]*kube.CSR{own}, 1, 0, 0, false},
		"other keys":                {[]*kube.CSR{foreign, foreign, own}, 1, 0, 1, false},
		"another name with the key": {[]*kube.CSR{renamed.csr(t)}, 0, 0, 0, false},
		"a bad copy before":         {[]*kube.CSR{misused, own}, 1, 0, 0, true},
		"a bad copy that is allowed": {
			[]*kube.CSR{withCondition(misused, certificatesv1.CertificateApproved)}, 0, 0, 0, true,
		},
		"a good copy":                 {[]*kube.CSR{own, own}, 2, 0, 0, false},
		"approved, and a copy":        {[]*kube.CSR{approved, own}, 1, 1, 0, false},
		"denied":                      {[]*kube.CSR{denied}, 0, 0, 0, true},
		"denied, and requested again": {[]*kube.CSR{denied, own}, 1, 0, 0, true},
	} {
		c := classifyClientCSRs(node, test.all)
		if len(c.pending) != test.waiting || len(c.approved) != test.approved || len(c.otherKeys) != test.others ||
			(c.refusal != nil) != test.refused {
			t.Errorf("%s: %d wait, %d approved, others %v, %v", name, len(c.pending), len(c.approved), c.otherKeys, c.refusal)
		}
	}
}

func TestNewestServingCSR(t *testing.T) {
	at := func(second int64, user string) *kube.CSR {
		return &kube.CSR{
			ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.Unix(second, 0)},
			Spec:       certificatesv1.CertificateSigningRequestSpec{Username: user},
		}
	}
	const user = "system:node:worker-1"
	all := []*kube.CSR{at(30, user), at(10, user), at(50, user), at(60, "system:node:worker-2"), at(40, user)}
	for since, want := range map[int64]int{0: 2, 50: 2, 51: -1} {
		newest := newestServingCSR("worker-1", metav1.NewTime(time.Unix(since, 0)), all)
		if got := slices.Index(all, newest); got != want {
			t.Errorf("since %d: number %d, want %d", since, got, want)
		}
	}
	if newest := newestServingCSR("worker-1", metav1.Time{}, all); newest != all[2] {
		t.Errorf("since nobody knows when: %v", newest)
	}
	copied, own := at(30, user), at(20, user)
	if c := (clientCSRs{pending: []*kube.CSR{copied}, approved: []*kube.CSR{own}}); c.firstSubmitted().Unix() != 20 {
		t.Errorf("the first question was at %s", c.firstSubmitted())
	}
}
