// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
)

func TestReview(t *testing.T) {
	now := time.Now()
	ca := certtest.NewCA(t, "ca").PEM
	cluster, err := enrollment.CAHashes(ca)
	if err != nil {
		t.Fatal(err)
	}
	key := certtest.NewKey(t)
	mine := enrollment.Fingerprint(&key.PublicKey)
	token := issue(t, "worker-1", ca, now, "192.0.2.7", "2001:db8::7")
	enrolled := EnrollmentFacts{Enrollments: byNode(token.enrollment)}
	none, notServed := EnrollmentFacts{}, EnrollmentFacts{Unreadable: errors.New("not served")}
	invalid := EnrollmentFacts{Invalid: map[string]error{"worker-1": errors.New("wrong")}}
	client, serving := validClientCSR(key).csr(t), validServingCSR(key).csr(t)
	signed := validClientCSR(key).csr(t)
	signed.Annotations = token.sign(t, cluster, key)
	misused := client.DeepCopy()
	misused.Spec.Usages = append(misused.Spec.Usages, "server auth")
	facts := Facts{Now: now, CAHashes: cluster, Node: &NodeState{}, NodesByAddress: map[netip.Addr][]string{}}
	used, exists, isReady, shared, unknown := facts, facts, facts, facts, facts
	used.UsedKeys = map[string]string{token.ID: mine}
	exists.Node, isReady.Node, unknown.Node = &NodeState{Exists: true}, &NodeState{Exists: true, IsReady: true}, nil
	shared.NodesByAddress = map[netip.Addr][]string{netip.MustParseAddr("192.0.2.7"): {"worker-2"}}
	approveClient := "hcp-node-admin approve worker-1 --fingerprint " + mine
	approveServing := approveClient
	for name, test := range map[string]struct {
		got     Review
		want    []string // severity, check and a part of the message
		command string
	}{
		"client, no enrollment": {NewReview(client, "worker-1", none, facts), []string{
			"ok rules it is as the kubelet of worker-1 submits it", "note enrollment it contains no join token, and no",
			"ok node Node worker-1 does not exist yet", "note key compare the key",
		}, approveClient},
		"client with the join token": {NewReview(signed, "worker-1", enrolled, facts), []string{
			"ok rules ", "ok enrollment the NodeEnrollment of worker-1 permits it", "ok node ", "note key ",
		}, approveClient},
		"client without its join token": {NewReview(client, "worker-1", enrolled, facts), []string{
			"ok rules ", "warning enrollment it contains no join token, but node worker-1 has one", "ok node ", "note key ",
		}, approveClient},
		"invalid enrollment": {NewReview(client, "worker-1", invalid, unknown), []string{
			"ok rules ", "warning enrollment the NodeEnrollment of worker-1 is invalid: wrong", "note node ", "note key ",
		}, approveClient},
		"no API": {NewReview(client, "worker-1", notServed, facts), []string{
			"ok rules ", "note enrollment NodeEnrollments cannot be read: not served", "ok node ", "note key ",
		}, approveClient},
		"other usages": {NewReview(misused, "worker-1", none, facts), []string{
			"problem rules invalid usages", "note enrollment ", "ok node ", "note key ",
		}, ""},
		"of another node": {NewReview(client, "worker-2", none, facts), []string{
			"problem rules invalid subject", "note enrollment ", "ok node ", "note key ",
		}, ""},
		"Node exists": {NewReview(client, "worker-1", none, exists), []string{
			"ok rules ", "note enrollment ", "problem node Node worker-1 already exists", "note key ",
		}, ""},
		"Node is Ready": {NewReview(client, "worker-1", none, isReady), []string{
			"ok rules ", "note enrollment ", "problem node Node worker-1 is Ready", "note key ",
		}, ""},
		"serving": {NewReview(serving, "worker-1", enrolled, used), []string{
			"ok rules ", "ok enrollment ", "note addresses check on the host that it has the addresses: 192.0.2.7, 2001:db8::7",
		}, approveServing},
		"serving, token not used": {NewReview(serving, "worker-1", enrolled, facts), []string{
			"ok rules ", "note enrollment no join token of worker-1 was used", "note addresses ",
		}, approveServing},
		"serving, shared address": {NewReview(serving, "worker-1", none, shared), []string{
			"ok rules ", "note enrollment ", "warning addresses Node worker-2 has the same address 192.0.2.7",
			"note addresses ",
		}, approveServing},
	} {
		t.Run(name, func(t *testing.T) {
			for i, finding := range test.got.Findings {
				text := string(finding.Severity) + " " + finding.Check + " " + finding.Message
				if i >= len(test.want) || !strings.HasPrefix(text, test.want[i]) {
					t.Errorf("finding %d is %q", i, text)
				}
			}
			command := test.got.Command().Command()
			if len(test.got.Findings) != len(test.want) || command != test.command {
				t.Errorf("%d findings, command %q, want %q", len(test.got.Findings), command, test.command)
			}
		})
	}
	if got := NewReview(client, "worker-1", none, exists).Findings[2]; got.Severity != report.SeverityProblem ||
		!strings.HasPrefix(string(got.Remedy), "oc delete node worker-1 #") {
		t.Errorf("the finding about the Node is %+v", got)
	}
}
