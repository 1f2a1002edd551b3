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
	NodeName     string          `json:"nodeName,omitempty"`
	NodePool     string          `json:"nodePool,omitempty"`
	Empty        bool            `json:"empty"` // no changes are necessary
	Overrides    []string        `json:"overrides,omitempty"`
	Changes      []PlannedChange `json:"changes"`
	Network      []string        `json:"network"` // result of the plan for the uplink, line by line
	Migration    *ovs.Migration  `json:"move,omitempty"`
	Notes        []ignition.Note `json:"notes"`
	MissingUnits []string        `json:"missing,omitempty"` // units that do not exist
}

// Err returns nil: a plan has no outcome of its own.
func (PlanDocument) Err() error { return nil }

// Plan returns the changes that a join would make. It fetches the payload but
// changes nothing, not even the agent's own state.
func Plan(ctx context.Context, options Options) (PlanDocument, error) {
	document := PlanDocument{TypeMeta: report.Meta("Plan")}
	j, err := openReadOnly(ctx, options)
	if err != nil {
		return document, err
	}
	defer j.close()
	if j.systemd == nil {
		return document, report.Fail(report.Refused, "", "comparing the units with this host: %w", j.systemdErr)
	}
	if _, err := j.loadPayload(ctx, report.Log{Sink: j.sink, Step: "fetch"}); err != nil {
		return document, err
	}
	if err := j.adaptPayload(ctx); err != nil {
		return document, err
	}
	document.NodePool, document.Notes = j.plan.NodePool, append([]ignition.Note{}, j.plan.Notes...)
	document.MissingUnits = j.plan.MissingUnits
	for _, one := range j.inputs.overrides {
		document.Overrides = append(document.Overrides, one.Name)
	}
	if document.NodeName, err = j.expectedNodeName(); err != nil {
		return document, err
	}
	if document.Changes, err = j.plannedChanges(ctx, options.Diff); err != nil {
		return document, err
	}
	move, err := j.planMigration(ctx)
	if err != nil {
		return document, err
	}
	shown := move.Public()
	document.Network, document.Migration = move.Describe(), &shown
	document.Empty = len(document.Changes)+len(document.MissingUnits) == 0 && move.AlreadyAttached
	return document, nil
}

// plannedChanges returns the changes of all steps that can be determined in
// advance, except those of the network.
func (j *operation) plannedChanges(ctx context.Context, diff bool) ([]PlannedChange, error) {
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
			change.Diff = textDiff(p)
		}
		changes = append(changes, change)
	}
	return changes, nil
}

// openReadOnly prepares a run that changes nothing, as prepareJoin does for a join.
func openReadOnly(ctx context.Context, options Options) (*operation, error) {
	state, err := readState(options.StateDir)
	if err != nil {
		return nil, err
	}
	j := &operation{config: mergeSaved(options.Config, state), dir: options.StateDir, sink: options.Sink, state: state}
	if j.inputs, err = readInputs(options.Config, state, j.dir, false, options.Stdin); err != nil {
		return nil, err
	}
	j.config = mergeJoinToken(j.config, j.inputs.joinToken)
	j.state.setSource(j.inputs.userData)
	j.localHost, err = openLocalHost(ctx, options.StateDir, false)
	return j, err
}
