// SPDX-License-Identifier: Apache-2.0

// Package systemd contains the units of the agent, for hosts on which no package installs them.
package systemd

import _ "embed" // for the directives go:embed

// AgentService is the content of hcp-node-agent.service.
//
//go:embed hcp-node-agent.service
var AgentService string
