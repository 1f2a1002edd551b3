// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/identity"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/reporttest"
)

// Which hosts are adopted.
func TestAdoptionFacts(t *testing.T) {
	node := func(ready corev1.ConditionStatus) *corev1.Node {
		n := &corev1.Node{}
		n.Status.NodeInfo.MachineID = "ABCD"
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}
		return n
	}
	for name, test := range map[string]struct {
		change func(*AdoptionFacts)
		want   string // part of the refusal, "" for none
		remedy string
	}{
		"ready node":              {change: func(*AdoptionFacts) {}},
		"Node without machine ID": {change: func(f *AdoptionFacts) { f.Node.Status.NodeInfo.MachineID = "" }},
		"kubelet is not installed": {
			func(f *AdoptionFacts) { f.Kubelet = systemd.UnitState{Load: "not-found", Active: "inactive"} },
			"kubelet.service is inactive", "systemctl status",
		},
		"kubelet crashes": {
			func(f *AdoptionFacts) { f.Kubelet.Active = "activating" }, "kubelet.service is activating", "systemctl status",
		},
		"CRI-O failed": {
			func(f *AdoptionFacts) { f.CRIO.Active = "failed" }, "crio.service is failed", "systemctl status",
		},
		"other cluster": {
			func(f *AdoptionFacts) {
				f.Identity, f.IdentityErr = identity.Missing, errors.New("it is for https://a:6443, not for https://b:6443")
			},
			"it is for https://a:6443, not for https://b:6443", "# adopt the host with the user data of its own cluster",
		},
		"no certificate": {
			func(f *AdoptionFacts) { f.Identity = identity.Missing }, "no client certificate", "# join the host without",
		},
		"expired certificate": {func(f *AdoptionFacts) { f.Identity = identity.Expired }, "has expired", "journalctl"},
		"Node was deleted": {
			func(f *AdoptionFacts) { f.Node = nil }, "Node worker-7 does not exist", "systemctl restart kubelet",
		},
		"Node of another machine": {
			func(f *AdoptionFacts) { f.MachineID = "ef01" }, "is another machine (machine-id ABCD)", "oc get node worker-7",
		},
		"Node is not Ready": {
			func(f *AdoptionFacts) { f.Node = node(corev1.ConditionUnknown) }, "Node worker-7 is not Ready", "oc describe node",
		},
		"other image": {
			func(f *AdoptionFacts) { f.Image = &ImageUpdate{Image: "quay.io/rhcos@sha256:2"} },
			"the payload requires quay.io/rhcos@sha256:2", "# adopt the host with the user data of a NodePool",
		},
	} {
		t.Run(name, func(t *testing.T) {
			active := systemd.UnitState{Load: "loaded", Active: "active"}
			facts := AdoptionFacts{
				Kubelet: active, CRIO: active, NodeName: "worker-7", MachineID: "abcd",
				Identity: identity.Valid, Node: node(corev1.ConditionTrue),
			}
			test.change(&facts)
			checkRefusal(t, facts.Check(), test.want, test.remedy)
		})
	}
}

func checkRefusal(t *testing.T, err error, want, remedy string) {
	t.Helper()
	if want == "" {
		if err != nil {
			t.Error(err)
		}
		return
	}
	reporttest.CheckFailure(t, err, report.Refused, want)
	if got := string(report.RemedyOf(err)); !strings.HasPrefix(got, remedy) {
		t.Errorf("remedy %q, want %q", got, remedy)
	}
}

// A host with records is not adopted, except those of an unfinished adoption.
func TestCheckUnrecorded(t *testing.T) {
	joined, items := joinstate.State{Started: time.Now()}, []ledger.Item{{}}
	checkRefusal(t, CheckUnrecorded(joinstate.State{}, nil, false), "", "")
	checkRefusal(t, CheckUnrecorded(joinstate.State{}, items, true), "", "")
	checkRefusal(t, CheckUnrecorded(joinstate.State{}, items, false), "recorded without a join (1)",
		"hcp-node-agent leave")
	checkRefusal(t, CheckUnrecorded(joined, items, true), "has a record of its join", "hcp-node-agent status")
}
