// SPDX-License-Identifier: Apache-2.0

package request

import (
	"io"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Options configures a command.
type Options struct {
	Command  string // name of the command, for remedies; join if empty
	Config   config.Join
	Service  bool // started by the service: waits for other runs, never takes over
	Attended bool // started on a terminal: a token that is not accepted is retried only for a short time
	Adopt    bool // record the host as a node that the agent did not join
	Resume   bool // resume the unfinished join with its recorded settings
	StateDir string
	Only     []string // the steps of a run that is no join; empty: all steps
	Offline  bool     // use saved user data instead of that of the join token's cluster
	Sink     report.Sink
	Stdin    io.Reader

	// For a plan.
	Diff    bool   // include differences of text files
	Payload string // file with the payload, "-" for standard input; "": it is fetched
	Facts   string // file with the facts of another host; "": see plan.Show
}

// startsOver reports whether the options name a new source for the payload of a host that has not joined yet.
// Otherwise the saved settings continue to apply.
func (o Options) startsOver(state joinstate.State) bool {
	return !state.Exists() || (o.Config.HasUserData() && state.Phase() != joinstate.PhaseJoined)
}

// NamesCluster reports whether an administrator names the cluster that the host joins. The service, and a resumed or
// repeated join, continue with the recorded one.
func (o Options) NamesCluster(state joinstate.State) bool {
	return !o.Service && !o.Resume && (o.Config.JoinToken != "" || o.startsOver(state))
}
