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

// Builder gathers what a join needs to know, and adapts the payload to this host. Its
// methods change nothing on the host. The fields from Payload on are filled by them.
type Builder struct {
	Config config.Join
	Dir    string
	Sink   report.Sink
	State  joinstate.State
	Inputs inputs.Inputs

	*machine.Machine

	Payload  *ignition.Payload
	Plan     *ignition.Plan
	NodeName string

	PackageHost   dnf.Host           // where packages are installed: this host, except in tests
	ServerVersion kubelet.Version    // version of the API server; zero before the server was queried
	Packages      *packages.Decision // the packages that the host lacks; nil before they were determined
}

// openReadOnly opens the host and reads the inputs for a command that changes nothing.
func openReadOnly(ctx context.Context, options inputs.Options) (*Builder, error) {
	state, err := joinstate.Read(options.StateDir)
	if err != nil {
		return nil, err
	}
	b := &Builder{Config: inputs.MergeSaved(options.Config, state), Dir: options.StateDir, Sink: options.Sink, State: state}
	if b.Inputs, err = inputs.Read(options.Config, state, b.Dir, false, options.Stdin); err != nil {
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
