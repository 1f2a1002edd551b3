// SPDX-License-Identifier: Apache-2.0

package rhcos

import (
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/systemd"
)

const (
	agentUnit         = "hcp-node-agent.service"
	packagedAgentPath = "/usr/bin/hcp-node-agent"
)

// AgentServicePath is the path of the agent's unit on a host whose image does not contain it.
const AgentServicePath = "/etc/systemd/system/" + agentUnit

// AgentService returns the content of the agent's unit for an agent at AgentPath, without comments: some clouds limit
// user data to 16 KiB.
func AgentService() string {
	var content strings.Builder
	for line := range strings.Lines(systemd.AgentService) {
		if !strings.HasPrefix(line, "#") {
			content.WriteString(line)
		}
	}
	return strings.TrimLeft(strings.Replace(content.String(), "\nExecStart="+packagedAgentPath+" ",
		"\nExecStart="+AgentPath+" ", 1), "\n")
}
