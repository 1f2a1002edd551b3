// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The playbook runs the script of each host as root, and only on hosts that have no join.
func TestAnsiblePlaybook(t *testing.T) {
	const dir = "../../examples/ansible"
	var plays []struct {
		Name        string `json:"name"`
		Hosts       string `json:"hosts"`
		Become      bool   `json:"become"`
		GatherFacts bool   `json:"gather_facts"`
		Tasks       []struct {
			Name   string            `json:"name"`
			Script map[string]string `json:"ansible.builtin.script"`
		} `json:"tasks"`
	}
	readYAML(t, dir+"/join.yaml", &plays)
	if len(plays) != 1 || plays[0].Hosts != "hcp_nodes" || !plays[0].Become || len(plays[0].Tasks) != 1 {
		t.Fatalf("plays %+v", plays)
	}
	want := map[string]string{
		"cmd":     "{{ inventory_dir }}/tokens/{{ inventory_hostname }}.sh",
		"creates": "/var/lib/hcp-node-agent/join.json",
	}
	if diff := cmp.Diff(want, plays[0].Tasks[0].Script); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// ansible-core is not required to run the tests.
	if ansible, err := exec.LookPath("ansible-playbook"); err == nil {
		mustRun(t, dir, ansible, "-i", "worker-7,", "join.yaml", "--syntax-check")
	}
}
