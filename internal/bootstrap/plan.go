package bootstrap

import (
	"context"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/accounts"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// PlanDocument lists the changes that a join would make. It contains digests
// instead of contents, and diffs with secrets masked if they were requested.
type PlanDocument struct {
	report.TypeMeta
	NodeName  string          `json:"nodeName,omitempty"`
	NodePool  string          `json:"nodePool,omitempty"`
	Empty     bool            `json:"empty"` // no changes are necessary
	Overrides []string        `json:"overrides,omitempty"`
	Changes   []PlannedChange `json:"changes"`
	Network   []string        `json:"network"` // result of the plan for the uplink, line by line
	Move      *ovs.Migration  `json:"move,omitempty"`
	Notes     []ignition.Note `json:"notes"`
	Missing   []string        `json:"missing,omitempty"` // units that do not exist
}

// Err returns nil: a plan has no outcome of its own.
func (PlanDocument) Err() error { return nil }

// Plan returns the changes that a join would make. It fetches the payload but
// changes nothing, not even the agent's own state.
func Plan(ctx context.Context, options Options) (PlanDocument, error) {
	document := PlanDocument{TypeMeta: report.Meta("Plan")}
	j, err := look(ctx, options)
	if err != nil {
		return document, err
	}
	defer j.close()
	if j.systemd == nil {
		return document, report.Fail(report.Refused, "", "comparing the units with this host: %w", j.noBus)
	}
	if _, err := j.obtain(ctx, report.Log{Sink: j.sink, Step: "fetch"}); err != nil {
		return document, err
	}
	if err := j.adapt(ctx); err != nil {
		return document, err
	}
	document.NodePool, document.Notes = j.plan.NodePool, append([]ignition.Note{}, j.plan.Notes...)
	document.Missing = j.plan.MissingUnits
	for _, one := range j.inputs.overrides {
		document.Overrides = append(document.Overrides, one.Name)
	}
	if document.NodeName, err = j.nodeName(); err != nil {
		return document, err
	}
	if document.Changes, err = j.planned(ctx, options.Diff); err != nil {
		return document, err
	}
	move, err := j.move(ctx)
	if err != nil {
		return document, err
	}
	shown := move.Public()
	document.Network, document.Move = move.Describe(), &shown
	document.Empty = len(document.Changes)+len(document.Missing) == 0 && move.AlreadyThere
	return document, nil
}

// planned returns the changes of all steps that can be determined in
// advance, except those of the network.
func (j *join) planned(ctx context.Context, diff bool) ([]PlannedChange, error) {
	wanted, err := j.wantedRuntime()
	if err != nil {
		return nil, err
	}
	runtime := crio.Changes(wanted)
	people, err := accounts.Plan(ctx, j.accounts())
	if err != nil {
		return nil, err
	}
	pending, err := j.ledger.Diff(ctx, slices.Concat(people, j.plan.Changes(), j.plan.Kubelet, runtime))
	if err != nil {
		return nil, err
	}
	changes := make([]PlannedChange, 0, len(pending))
	for _, p := range pending {
		change := plannedChange(p, slices.ContainsFunc(runtime, func(c ledger.Change) bool { return c.Key() == p.Key() }))
		if diff {
			change.Diff = difference(p)
		}
		changes = append(changes, change)
	}
	return changes, nil
}

// look prepares a run that changes nothing, as prepareJoin does for a join.
func look(ctx context.Context, options Options) (*join, error) {
	state, err := readState(options.StateDir)
	if err != nil {
		return nil, err
	}
	j := &join{config: continued(options.Config, state), dir: options.StateDir, sink: options.Sink, state: state}
	if j.inputs, err = readInputs(options.Config, state, j.dir, false, options.Stdin); err != nil {
		return nil, err
	}
	j.config = withTicket(j.config, j.inputs.ticket)
	j.state.of(j.inputs.stub)
	j.machine, err = openMachine(ctx, options.StateDir, false)
	return j, err
}
