package plan

import (
	"context"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/inputs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Builder builds plans from the payload and the facts of this host. Its methods change
// nothing on the host.
type Builder struct {
	Config config.Join
	Dir    string
	Sink   report.Sink
	State  joinstate.State
	Inputs inputs.Inputs

	*machine.Machine

	Payload     *ignition.Payload // nil before LoadPayload
	PackageHost dnf.Host          // where packages are installed: this host, except in tests
}

// openReadOnly opens the host and reads the inputs for a command that changes nothing.
func openReadOnly(ctx context.Context, options inputs.Options) (*Builder, error) {
	state, err := joinstate.Read(options.StateDir)
	if err != nil {
		return nil, err
	}
	b := &Builder{Config: inputs.MergeSaved(options.Config, state), Dir: options.StateDir, Sink: options.Sink, State: state}
	if b.Inputs, err = inputs.Read(options, state); err != nil {
		return nil, err
	}
	b.Config = inputs.MergeJoinToken(b.Config, b.Inputs.JoinToken)
	b.State.SetSource(b.Inputs.UserData)
	b.Machine, err = machine.Open(ctx, options.StateDir, false)
	return b, err
}

// IsHosted reports whether the host joins a NodePool of a hosted cluster, as
// opposed to the machine config pool of a standalone cluster, whose own daemon
// compares every file.
func (b *Builder) IsHosted() bool { return b.State.Hosted }
