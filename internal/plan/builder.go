package plan

import (
	"context"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/inputs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kubelet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/packages"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Builder is one run of a command: its configuration and the data that its steps
// share.
type Builder struct {
	Config config.Join
	Dir    string
	Sink   report.Sink
	State  joinstate.State
	Inputs inputs.Inputs

	*machine.Machine

	Payload  *ignition.Payload
	Plan     *ignition.Plan
	NodeName string // node name

	PackageHost   dnf.Host           // where packages are installed: this host, except in tests
	ServerVersion kubelet.Version    // version of the API server; zero before the server was queried
	Packages      *packages.Decision // the packages that the host lacks; nil before they were determined
}

// OpenReadOnly prepares a run that changes nothing, as prepareJoin does for a join.
func OpenReadOnly(ctx context.Context, options inputs.Options) (*Builder, error) {
	state, err := joinstate.Read(options.StateDir)
	if err != nil {
		return nil, err
	}
	j := &Builder{Config: inputs.MergeSaved(options.Config, state), Dir: options.StateDir, Sink: options.Sink, State: state}
	if j.Inputs, err = inputs.Read(options.Config, state, j.Dir, false, options.Stdin); err != nil {
		return nil, err
	}
	j.Config = inputs.MergeJoinToken(j.Config, j.Inputs.JoinToken)
	j.State.SetSource(j.Inputs.UserData)
	j.Machine, err = machine.Open(ctx, options.StateDir, false)
	return j, err
}

// IsHosted reports whether the host joins a NodePool of a hosted cluster, as
// opposed to the machine config pool of a standalone cluster, whose own daemon
// compares every file.
func (j *Builder) IsHosted() bool { return j.State.Hosted }
