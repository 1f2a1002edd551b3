package plan

import (
	"context"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/accounts"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/adapt"
	"github.com/hcp-node-agent/hcp-node-agent/internal/inputs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/stepname"
)

// Document lists the changes that a join would make. It contains digests
// instead of contents, and diffs with secrets masked if they were requested.
type Document struct {
	report.TypeMeta
	NodeName     string          `json:"nodeName,omitempty" doc:"name of the Node"`
	NodePool     string          `json:"nodePool,omitempty" doc:"NAMESPACE/NAME of the NodePool; absent for a standalone cluster"`
	Empty        bool            `json:"empty" doc:"whether no changes are necessary"`
	Overrides    []string        `json:"overrides,omitempty" doc:"Ignition configs that are merged over the payload"`
	Changes      []PlannedChange `json:"changes" doc:"changes that a join would make, except those of the network"`
	Network      *Network        `json:"network,omitempty" doc:"attachment of the uplink to br-ex; absent if the step network is skipped, or if Open vSwitch is installed first"`
	Notes        []adapt.Note    `json:"notes" doc:"entries of the payload that are not applied as they are, and additions"`
	MissingUnits []string        `json:"missingUnits,omitempty" doc:"units that the payload needs and that do not exist, each with the reason"`
	report.CommandResult
}

// Err returns nil: a plan has no outcome of its own.
func (Document) Err() error { return nil }

// Show returns the changes that a join would make. It fetches the payload but
// changes nothing, not even the agent's own state.
func Show(ctx context.Context, options inputs.Options) (Document, error) {
	document := Document{TypeMeta: report.Meta("Plan")}
	b, err := openReadOnly(ctx, options)
	if err != nil {
		return document, err
	}
	defer b.Close()
	if b.Systemd == nil {
		return document, report.Fail(report.Refused, "", "comparing the units with this host: %w", b.SystemdErr)
	}
	if _, err := b.LoadPayload(ctx, report.Log{Sink: b.Sink, Step: stepname.Fetch}); err != nil {
		return document, err
	}
	p, err := b.Build(ctx)
	if err != nil {
		return document, err
	}
	document.NodeName, document.NodePool = p.NodeName, p.NodePool
	document.Notes, document.MissingUnits = p.Notes, p.MissingUnits
	for _, one := range b.Inputs.Overrides {
		document.Overrides = append(document.Overrides, one.Name)
	}
	if document.Changes, err = b.plannedChanges(ctx, p, options.Diff); err != nil {
		return document, err
	}
	document.Empty = len(document.Changes)+len(document.MissingUnits) == 0
	if p.Migration != nil {
		document.Network = newNetwork(*p.Migration)
		document.Empty = document.Empty && p.Migration.AlreadyAttached
	}
	return document, nil
}

// plannedChanges returns the changes of all steps that can be determined in
// advance, except those of the network.
func (b *Builder) plannedChanges(ctx context.Context, p *Plan, diff bool) ([]PlannedChange, error) {
	runtime := crio.Changes(p.Runtime)
	people, err := accounts.Plan(ctx, b.Accounts(p))
	if err != nil {
		return nil, err
	}
	pending, err := b.Ledger.Diff(ctx, slices.Concat(people, p.Changes(), p.Kubelet, runtime))
	if err != nil {
		return nil, err
	}
	changes := make([]PlannedChange, 0, len(pending))
	for _, one := range pending {
		change := plannedChange(one, slices.ContainsFunc(runtime, func(c ledger.Change) bool { return c.Key() == one.Key() }))
		if diff {
			change.Diff = textDiff(one)
		}
		changes = append(changes, change)
	}
	return changes, nil
}
