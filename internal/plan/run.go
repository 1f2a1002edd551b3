// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
)

// Run contains what a run of a command is given, and what earlier runs have recorded.
type Run struct {
	Config config.Join
	// Attended means that a person awaits the result: see Fetcher.
	Attended bool
	Dir      string // the state directory
	Sink     report.Sink
	State    joinstate.State
	Inputs   request.Inputs
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

// UserDataArgument returns the user data of this run as a word of a shell command: the file, or USER_DATA if it was not
// read from a file.
func (r *Run) UserDataArgument() string {
	if r.Config.UserData == "" || r.Config.UserData == "-" {
		return "USER_DATA"
	}
	return report.ShellWord(r.Config.UserData)
}

// CheckNodePool fails if the user data belongs to a NodePool other than the one
// this host has joined.
func (r *Run) CheckNodePool() error {
	userData, state := r.Inputs.UserData, r.State
	if userData == nil || !state.Exists() || state.NodePool == "" || userData.NodePool() == "" ||
		userData.NodePool() == state.NodePool {
		return nil
	}
	return report.Fail(report.Refused,
		report.Remedyf("hcp-node-agent leave # prints how to delete the Node\nhcp-node-agent join --user-data %s",
			r.UserDataArgument()),
		"this host belongs to NodePool %s (join of %s); the user data is for NodePool %s",
		state.NodePool, state.Started.Format(time.DateOnly), userData.NodePool())
}

// Settings returns the settings of the run for Build.
func (r *Run) Settings() Settings {
	return Settings{
		Config: r.Config, JoinToken: r.Inputs.JoinToken, NodePool: r.State.NodePool, Hosted: r.State.Hosted,
		BootsImage: r.Upgrading || !r.State.Registered,
		FirstJoin:  r.State.Finished.IsZero(), PayloadDigest: r.State.PayloadDigest,
	}
}
