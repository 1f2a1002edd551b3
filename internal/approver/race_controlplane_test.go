// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package approver

import (
	"fmt"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/test/csrtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
)

// Two keys are submitted for each token. Two approvers have read the same usage records and have
// chosen different keys. The first write succeeds; the other approver gets a conflict and decides
// again.
func TestControlPlaneTwoKeysAndTwoApprovers(t *testing.T) {
	const count = 5
	s := newTestCluster(t)
	keys := map[string][2]string{} // by token, in the order of submission
	var batch []*kube.CSR
	for n := range count {
		made := s.newToken(fmt.Sprintf("race-%02d", n), csrtest.ClusterCA(t), 0)
		var pair [2]string
		for i := range pair {
			name, key := csrtest.SubmitWithToken(t, made)
			csrs := kubetest.AdminClient(t).CertificatesV1().CertificateSigningRequests()
			csr, err := csrs.Get(t.Context(), name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			pair[i], batch = enrollment.Fingerprint(&key.PublicKey), append(batch, csr)
		}
		keys[made.ID] = pair
	}
	first, second := s.newApprover(fleetKubeconfig), s.newApprover(fleetKubeconfig)
	first.loadEnrollments()
	second.loadEnrollments()
	ordered, reversed := batch, slices.Clone(batch)
	slices.Reverse(reversed)

	all, was, fresh, err := first.decideBatch(t.Context(), ordered, &clusterFacts{connection: first.connection})
	if err != nil || len(fresh) != count {
		t.Fatalf("the first approver would record %v: %v", fresh, err)
	}
	_, late, others, err := second.decideBatch(t.Context(), reversed, &clusterFacts{connection: second.connection})
	if err != nil || len(others) != count {
		t.Fatalf("the second approver would record %v: %v", others, err)
	}
	for id := range keys {
		if fresh[id] != keys[id][0] || others[id] != keys[id][1] {
			t.Fatalf("both approvers chose the same key of %s", id)
		}
	}
	if err := first.usage.add(t.Context(), was, fresh); err != nil {
		t.Fatal(err)
	}
	if err := second.usage.add(t.Context(), late, others); !apierrors.IsConflict(err) {
		t.Fatalf("the second approver overwrote the record of the first: %v", err)
	}
	if err := second.process(t.Context(), reversed); err != nil { // as after a conflict
		t.Fatal(err)
	}
	if err := first.applyDecisions(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	for i, csr := range batch {
		want := approvedByAgent
		if i%2 == 1 {
			want = ""
		}
		if got := csrtest.Conditions(t, csr.Name); got != want {
			t.Errorf("key %d of its join token: the CSR is %q, want %q (%+v)", i%2, got, want, s.lastEvent(csr.Name))
		}
	}
	if !first.hasConflict {
		t.Error("the first approver did not find the approval by the second")
	}
}
