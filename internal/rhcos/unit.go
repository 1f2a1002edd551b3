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

// agentService returns the content of the agent's unit for an agent at AgentPath.
func agentService() string {
	return strings.Replace(systemd.AgentService, "\nExecStart="+packagedAgentPath+" ", "\nExecStart="+AgentPath+" ", 1)
}
