// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/inputs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Run contains what a run of a command is given, and what earlier runs have recorded.
type Run struct {
	Config config.Join
	// Attended means that a person awaits the result: see Fetcher.
	Attended bool
	Dir      string // the state directory
	Sink     report.Sink
	State    joinstate.State
	Inputs   inputs.Inputs
}

// Session is a run of a command on a host. It cannot change the host.
type Session struct {
	Run         *Run
	Host        machine.Reader
	PackageHost dnf.Host // where packages are installed: this host, except in tests
}
