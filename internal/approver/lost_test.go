// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"net/netip"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
)

// No CSR of a lost node is approved, also with a valid enrollment, and by no person.
func TestLostNode(t *testing.T) {
	now := time.Now()
	ca := certtest.NewCA(t, "ca").PEM
	cluster, err := enrollment.CAHashes(ca)
	if err != nil {
		t.Fatal(err)
	}
	key := certtest.NewKey(t)
	token := issue(t, "worker-1", ca, now, "192.0.2.7", "2001:db8::7")
	enrolled := byNode(token.enrollment)
	client, serving := validClientCSR(key).csr(t), validServingCSR(key).csr(t)
	client.Annotations = token.sign(t, cluster, key)
	facts := Facts{Now: now, CAHashes: cluster, Node: &NodeState{}, NodesByAddress: map[netip.Addr][]string{}}
	used := facts
	used.UsedKeys = map[string]string{token.ID: enrollment.Fingerprint(&key.PublicKey)}
	for name, decide := range map[string]func(lost map[string]string) (Decision, Review){
		"client": func(lost map[string]string) (Decision, Review) {
			facts := facts
			facts.Lost = lost
			return Decide(client, enrolled, facts), NewReview(client, "worker-1", EnrollmentFacts{}, facts)
		},
		"serving": func(lost map[string]string) (Decision, Review) {
			facts := used
			facts.Lost = lost
			return Decide(serving, enrolled, facts), NewReview(serving, "worker-1", EnrollmentFacts{}, facts)
		},
	} {
		t.Run(name, func(t *testing.T) {
			if decision, review := decide(map[string]string{"worker-2": ""}); decision.Outcome != Approved ||
				review.Problem() != "" {
				t.Errorf("another node is lost: %+v, %q", decision, review.Problem())
			}
			const reason, remedy = "node worker-1 was removed as lost", "hcp-node-admin found worker-1"
			decision, review := decide(map[string]string{"worker-1": ""})
			if decision.Outcome != Refused || decision.Reason != reason || decision.Enrollment != nil ||
				decision.Node != "worker-1" || decision.Remedy.Command() != remedy {
				t.Errorf("the decision is %+v", decision)
			}
			if review.Problem() != reason || review.Command() != "" || len(review.Findings) != 1 ||
				review.Findings[0].Severity != report.SeverityProblem {
				t.Errorf("the findings are %+v", review.Findings)
			}
		})
	}
}
