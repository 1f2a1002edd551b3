// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"testing"
)

// The play for join tokens needs no other modules than copy and command, and copies the secrets for root only, without
// logging them, to hosts that have no join.
func TestAnsiblePlayOfJoinTokens(t *testing.T) {
	var plays []struct {
		Name        string           `json:"name"`
		Hosts       string           `json:"hosts"`
		Become      bool             `json:"become"`
		GatherFacts bool             `json:"gather_facts"`
		Tasks       []map[string]any `json:"tasks"`
	}
	readYAML(t, "../../examples/ansible/tokens.yaml", &plays)
	if len(plays) != 1 || plays[0].Hosts != "hcp_nodes" || !plays[0].Become {
		t.Fatalf("plays %+v", plays)
	}
	copies := 0
	for _, task := range plays[0].Tasks {
		for key := range task {
			if strings.Contains(key, ".") && key != "ansible.builtin.copy" && key != "ansible.builtin.command" {
				t.Errorf("module %s", key)
			}
		}
		if copied, isCopy := task["ansible.builtin.copy"].(map[string]any); isCopy {
			copies++
			if copied["mode"] != "0600" || copied["owner"] != "root" || task["no_log"] != true ||
				task["when"] != "hcp_node_agent_new.rc == 0" || copied["dest"] != "/etc/hcp-node-agent/node.token" {
				t.Errorf("the token is copied by %+v", task)
			}
		}
		if command, _ := task["ansible.builtin.command"].(map[string]any); command != nil {
			argv := fmt.Sprint(command["argv"])
			if strings.Contains(argv, "systemctl") && !strings.Contains(argv, "--no-block hcp-node-agent.service") {
				t.Errorf("%s waits for the join", argv)
			}
		}
	}
	if copies != 1 {
		t.Errorf("%d files are copied", copies)
	}
}
