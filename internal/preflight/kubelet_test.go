// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func TestCgroupV1(t *testing.T) {
	requested, accept, refuse := []string{"systemd.unified_cgroup_hierarchy=1"}, new(bool), new(bool)
	*refuse = true
	const byPayload, byKubelet = "the payload requires cgroup v2", "kubelet of this release does not start with cgroup v1"
	for name, test := range map[string]struct {
		facts PayloadFacts
		want  string
	}{
		"kubelet 1.34":    {PayloadFacts{KubeletMinor: 34}, ""},
		"kubelet 1.35":    {PayloadFacts{KubeletMinor: 35}, byKubelet},
		"kubelet 1.37":    {PayloadFacts{KubeletMinor: 37}, byKubelet},
		"unknown kubelet": {PayloadFacts{}, ""},
		"kubelet 1.37 that is configured to start":  {PayloadFacts{KubeletMinor: 37, FailCgroupV1: accept}, ""},
		"kubelet 1.33 that is configured to refuse": {PayloadFacts{KubeletMinor: 33, FailCgroupV1: refuse}, byKubelet},
		"payload": {PayloadFacts{KubeletMinor: 35, KernelArguments: requested}, byPayload},
		"payload whose arguments the join sets": {
			PayloadFacts{KubeletMinor: 35, KernelArguments: requested, SetsArguments: true}, "",
		},
		"payload whose arguments do not request cgroup v2": {
			PayloadFacts{KubeletMinor: 35, KernelArguments: []string{"psi=0"}, SetsArguments: true}, byKubelet,
		},
	} {
		found := checkCgroup(test.facts)
		if len(found) == 0 && test.want == "" {
			continue
		}
		if len(found) != 1 || test.want == "" || !strings.HasPrefix(found[0].Message, test.want) ||
			!found[0].RefusesJoin || found[0].Code != report.RebootNeeded {
			t.Errorf("%s: %+v, want %q", name, found, test.want)
		}
		test.facts.Host.CgroupV2 = true
		if found := checkCgroup(test.facts); len(found) != 0 {
			t.Errorf("%s: with cgroup v2: %+v", name, found)
		}
	}
}

func TestKubeletFlags(t *testing.T) {
	found := checkKubeletFlags(PayloadFacts{KubeletMinor: 35, UnsupportedFlags: []string{"--a", "--b"}})
	if len(found) != 1 || !found[0].RefusesJoin ||
		found[0].Message != "kubelet 1.35 does not support flags of its unit: --a, --b" {
		t.Errorf("%+v", found)
	}
	if found := checkKubeletFlags(PayloadFacts{KubeletMinor: 35}); len(found) != 0 {
		t.Errorf("without unsupported flags: %+v", found)
	}
}
