// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
)

// Run contains what a run of a command is given, and what earlier runs have recorded.
type Run struct {
	request.Request
	// Attended means that a person awaits the result: see Fetcher.
	Attended bool
	Dir      string // the state directory
	Sink     report.Sink
	State    joinstate.State
	// ServerTimeout limits the attempts to reach each server; 0: the limits of a join.
	ServerTimeout time.Duration
	// Upgrading means that the payload replaces that of a join: software of another release is replaced.
	Upgrading bool
}

// CommandName returns the command that runs: join or upgrade.
func (r *Run) CommandName() string {
	if r.Upgrading {
		return "upgrade"
	}
	return "join"
}

// Settings returns the settings of the run for Build.
func (r *Run) Settings() Settings {
	return Settings{
		Config: r.Config, JoinToken: r.JoinToken, NodePool: r.State.NodePool, Hosted: r.State.Hosted,
		BootsImage: r.Upgrading || !r.State.Registered,
		FirstJoin:  r.State.Finished.IsZero(), PayloadDigest: r.State.PayloadDigest,
		APIServer: r.State.APIServer, FormerAPIServers: r.State.FormerAPIServers,
	}
}
