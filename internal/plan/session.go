// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
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

// Session is a run of a command on a host. It cannot change the host.
type Session struct {
	Run         *Run
	Host        machine.Reader
	PackageHost dnf.Host // where packages are installed: this host, except in tests
}

// Settings returns the settings of the run for Build.
func (r *Run) Settings() Settings {
	return Settings{
		Config: r.Config, JoinToken: r.Inputs.JoinToken, NodePool: r.State.NodePool, Hosted: r.State.Hosted,
		BootsImage: r.Upgrading || !r.State.Registered,
		FirstJoin:  r.State.Finished.IsZero(), PayloadDigest: r.State.PayloadDigest,
	}
}

// Build gathers the facts about the host and decides what a join with the payload does.
func (s *Session) Build(ctx context.Context, uplink *Uplink, payload *ignition.Payload) (*Plan, error) {
	facts, err := s.Gather(ctx, uplink, payload)
	if err != nil {
		return nil, err
	}
	return Build(facts, payload, s.Run.Settings())
}
