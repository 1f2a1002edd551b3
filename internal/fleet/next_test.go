// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func TestNext(t *testing.T) {
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	later, before := now.Add(time.Hour), now.Add(-time.Hour)
	client := approver.CSRSummary{Name: "csr-1", State: approver.CSRPending, Key: "SHA256:00"}
	serving := approver.CSRSummary{
		Name: "csr-2\x1b", State: approver.CSRPending, Key: "SHA256:01",
		Signer: certificatesv1.KubeletServingSignerName, Addresses: []string{"192.0.2.1"},
	}
	issued := approver.CSRSummary{Name: "csr-3", State: approver.CSRIssued, Key: "SHA256:00"}
	node := &Node{}
	notReady := &Node{Conditions: []Condition{{Type: "Ready", Status: "False", Message: "no network"}}}
	for name, test := range map[string]struct {
		in   Description
		want []string
	}{
		"ready":          {Description{Enrollment: &Enrollment{Phase: "Ready", UsedKey: "a"}, Node: node}, nil},
		"token not used": {Description{Enrollment: &Enrollment{TokenExpires: later}}, []string{"no host has used the join token, which is valid until 2026-11-27T13:00:00Z"}},
		"token expired":  {Description{Enrollment: &Enrollment{TokenExpires: before}}, []string{"the join token has expired, and no host has used it"}},
		"expired, approved by hand": {
			Description{Enrollment: &Enrollment{TokenExpires: before, Phase: "Ready"}, Node: node}, nil,
		},
		"no Node": {
			Description{Enrollment: &Enrollment{TokenExpires: before, UsedKey: "a"}},
			[]string{"a host has used the join token, but its Node does not exist"},
		},
		"lost": {
			Description{Enrollment: &Enrollment{UsedKey: "a", Phase: "Lost", Reason: "kubelet stopped"}, Node: node},
			[]string{"the node is Lost: kubelet stopped"},
		},
		"invalid": {
			Description{Enrollment: &Enrollment{Invalid: "publicKey: wrong"}},
			[]string{"the NodeEnrollment is invalid: publicKey: wrong"},
		},
		"not Ready, with the agent's diagnosis": {
			Description{
				Enrollment: &Enrollment{UsedKey: "a", Phase: "Failed", Reason: "container runtime network not ready"},
				Node:       notReady, Agent: &Agent{State: "Degraded", Reason: "the network plugin is not running"},
			},
			[]string{
				"the agent reports: the network plugin is not running",
				"the node is Failed: container runtime network not ready",
			},
		},
		"Ready, with a problem on the host": {
			Description{
				Enrollment: &Enrollment{UsedKey: "a", Phase: "Ready"}, Node: node,
				Agent: &Agent{State: "Degraded", Reason: "registry r rejects the pull secret"},
			},
			[]string{"the agent reports: registry r rejects the pull secret"},
		},
		"joined, not Ready yet": {
			Description{Enrollment: &Enrollment{UsedKey: "a", Phase: "Joined"}, Node: notReady},
			[]string{"the Node is not Ready: no network"},
		},
		"joined, nothing reported": {
			Description{Enrollment: &Enrollment{UsedKey: "a", Phase: "Joined"}, Node: node},
			[]string{"the Node has not reported yet whether it is Ready"},
		},
		"healthy": {
			Description{
				Enrollment: &Enrollment{UsedKey: "a", Phase: "Ready"}, Node: node, Agent: &Agent{State: "Healthy", Reason: "old"},
			}, nil,
		},
		"cordoned in its upgrade": {
			Description{
				Enrollment: &Enrollment{UsedKey: "a", Phase: "Joined"}, Node: &Node{IsUnschedulable: true},
				Agent: &Agent{State: "Upgrading", Reason: "an upgrade is in progress"},
			},
			[]string{"the agent upgrades the node: it has cordoned the Node, and uncordons it at the end"},
		},
		"cordoned in its upgrade, by the phase": {
			Description{Enrollment: &Enrollment{UsedKey: "a", Phase: "Upgrading"}, Node: &Node{IsUnschedulable: true}},
			[]string{"the agent upgrades the node: it has cordoned the Node, and uncordons it at the end"},
		},
		"deleted": {
			Description{Enrollment: &Enrollment{IsDeleted: true, Invalid: "a"}}, []string{"the NodeEnrollment is being deleted"},
		},
		"cordoned, without an enrollment": {
			Description{Node: &Node{IsUnschedulable: true}},
			[]string{
				"the Node has no NodeEnrollment, so that the controller does not approve its CSRs",
				"the Node is cordoned: no pods are scheduled on it",
			},
		},
		"CSRs": {
			Description{
				Enrollment: &Enrollment{Phase: "Ready", UsedKey: "a"}, Node: node,
				CSRs: []approver.CSRSummary{issued, client, serving, {Name: "unusable", State: approver.CSRPending}},
			},
			[]string{"the client CSR csr-1 is pending", `the serving CSR "csr-2\x1b" is pending, for 192.0.2.1`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := lists.Map(test.in.next(now), func(one report.Problem) string { return one.Message })
			if strings.Join(got, "\n") != strings.Join(test.want, "\n") {
				t.Errorf("got %q, want %q", got, test.want)
			}
			for _, one := range test.in.next(now) {
				if test.in.isUpgrading() && strings.Contains(string(one.Remedy), "uncordon") {
					t.Errorf("a remedy interferes with the upgrade: %s", one.Remedy)
				}
			}
		})
	}
}
