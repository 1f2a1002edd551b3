package bootstrap

import (
	"context"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// PlanDocument is what a join would change. Contents are not in it, only
// digests.
type PlanDocument struct {
	report.TypeMeta
	NodeName string           `json:"nodeName,omitempty"`
	NodePool string           `json:"nodePool,omitempty"`
	Changes  []ledger.Pending `json:"changes"`
	Network  []string         `json:"network"` // what becomes of the uplink, line by line
	Notes    []ignition.Note  `json:"notes"`
	Missing  []string         `json:"missing,omitempty"` // units that nobody has
}

// Plan tells what a join would change. It fetches the payload and changes
// nothing, the agent's own state included.
func Plan(ctx context.Context, options Options) (PlanDocument, error) {
	document := PlanDocument{TypeMeta: report.Meta("Plan")}
	j, err := look(ctx, options)
	if err != nil {
		return document, err
	}
	defer j.close()
	if _, err := j.obtain(ctx, report.Log{Sink: j.sink, Step: "fetch"}); err != nil {
		return document, err
	}
	if err := j.adapt(ctx); err != nil {
		return document, err
	}
	document.NodePool, document.Notes = j.plan.NodePool, j.plan.Notes
	document.Missing = j.plan.MissingUnits
	if document.NodeName, err = j.nodeName(); err != nil {
		return document, err
	}
	wishes, err := j.wishes()
	if err != nil {
		return document, err
	}
	if document.Changes, err = j.ledger.Diff(ctx, wishes); err != nil {
		return document, err
	}
	move, err := j.move(ctx)
	if err != nil {
		return document, err
	}
	document.Network = move.Describe()
	return document, nil
}

// wishes are all changes that the steps before identity would make, but for
// the network's.
func (j *join) wishes() ([]ledger.Change, error) {
	wishes := j.plan.Changes()
	runtime, err := j.wantedRuntime()
	if err != nil {
		return nil, err
	}
	return append(wishes, crio.Changes(runtime)...), nil
}

// look is begin for a run that changes nothing.
func look(ctx context.Context, options Options) (*join, error) {
	state, err := readState(options.StateDir)
	if err != nil {
		return nil, err
	}
	j := &join{config: options.Config, dir: options.StateDir, sink: options.Sink, state: state}
	if j.inputs, err = readInputs(j.config, state, j.dir, false, options.Stdin); err != nil {
		return nil, err
	}
	j.state.of(j.inputs.stub)
	j.machine, err = openMachine(ctx, options.StateDir, false)
	return j, err
}
