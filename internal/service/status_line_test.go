// SPDX-License-Identifier: Apache-2.0

package service

import (
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
)

func TestServiceStatus(t *testing.T) {
	for want, all := range map[string][]Change{
		"worker-0 is Ready and schedulable":                                                nil,
		"kubelet.service is not running (failed)":                                          activeFindings()[:1],
		"kubelet.service is not running (failed) (and 3 more; see: hcp-node-agent doctor)": activeFindings(),
	} {
		if got := statusLine("worker-0", all); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A check that is repeated, or that confirms a finding, does not replace the last result.
func TestServiceStatusKeepsTheLastResult(t *testing.T) {
	m := &nodeMonitor{state: joinstate.State{NodeName: "worker-0"}}
	for _, step := range []struct {
		active  []Change
		settled bool
		want    string
	}{
		{nil, false, ""},
		{nil, true, "worker-0 is Ready and schedulable"},
		{nil, false, "worker-0 is Ready and schedulable"},
		{activeFindings()[:1], false, "kubelet.service is not running (failed)"},
		{nil, false, "kubelet.service is not running (failed)"},
		{nil, true, "worker-0 is Ready and schedulable"},
	} {
		m.reportStatus(t.Context(), step.active, step.settled)
		if m.result != step.want {
			t.Errorf("%q, want %q", m.result, step.want)
		}
	}
}
