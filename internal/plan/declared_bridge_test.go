// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/adapt"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
)

func TestDeclaredBridge(t *testing.T) {
	const own, cluster = "/etc/nmstate/openshift/worker-0.yml", "/etc/nmstate/openshift/cluster.yml"
	for name, test := range map[string]struct {
		files []string
		want  string
	}{
		"none":                    {nil, ""},
		"of the cluster":          {[]string{cluster}, cluster},
		"of the host":             {[]string{cluster, own}, own},
		"of another host":         {[]string{"/etc/nmstate/openshift/worker-1.yml"}, ""},
		"what was applied":        {[]string{"/etc/nmstate/openshift/applied"}, ""},
		"another file of nmstate": {[]string{"/etc/nmstate/site.yml"}, ""},
	} {
		p := &Plan{Plan: &adapt.Plan{}}
		for _, file := range test.files {
			p.Files = append(p.Files, ledger.FileChange(file, "of the payload", file))
		}
		got := ovs.Declared{}
		if declared := declaredBridge("worker-0.example.com", p.plannedFile); declared != nil {
			got = *declared
		}
		if got.File != test.want || got.Content != test.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
