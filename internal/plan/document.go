// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/effects"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/accounts"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/adapt"
	"github.com/hcp-node-agent/hcp-node-agent/internal/inputs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/preflight"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// Document lists the changes that a join would make. It contains digests
// instead of contents, and diffs with secrets masked if they were requested.
type Document struct {
	report.TypeMeta
	NodeName      string             `json:"nodeName,omitempty" doc:"name of the Node"`
	NodePool      string             `json:"nodePool,omitempty" doc:"NAMESPACE/NAME of the NodePool; absent for a standalone cluster, and if unknown"`
	Payload       PayloadOrigin      `json:"payload" doc:"the planned payload"`
	Facts         FactsOrigin        `json:"facts" doc:"the facts about the host"`
	Software      *software.Contents `json:"software,omitempty" doc:"release of the payload, and the packages of its OS image; absent if it is unknown"`
	SoftwareError string             `json:"softwareError,omitempty" doc:"why the release of the payload is unknown"`
	Empty         bool               `json:"empty" doc:"whether no changes are necessary"`
	Overrides     []string           `json:"overrides,omitempty" doc:"Ignition configs that are merged over the payload"`
	Changes       []PlannedChange    `json:"changes" doc:"changes that a join would make, except those of the network"`
	Unchanged     int                `json:"unchanged" doc:"number of planned objects that are already in the desired state"`
	Obsolete      []ObsoleteObject   `json:"obsolete" doc:"objects that an earlier payload added and this one does not have; upgrade reverts them, join keeps them until leave"`
	Upgrade       bool               `json:"upgrade" doc:"whether only an upgrade can make the changes, because the payload is not that of the join"`
	Effects       effects.Effects    `json:"effects,omitempty" doc:"how the changes take effect on the running node; absent for a host that has not joined"`
	Unpacked      *Unpacked          `json:"unpacked,omitempty" doc:"packages that are unpacked from the OS image; absent if there are none"`
	Network       *Network           `json:"network,omitempty" doc:"attachment of the uplink to br-ex; absent if it is not planned"`
	NotPlanned    []string           `json:"notPlanned" doc:"parts of a join that this plan does not contain, each with the reason"`
	Notes         []adapt.Note       `json:"notes" doc:"entries of the payload that are not applied as they are, additions, and actions for the administrator"`
	Connections   []report.Finding   `json:"connections,omitempty" doc:"findings about the servers to which the node connects; absent for a payload from a file and for another host"`
	Logins        []report.Finding   `json:"logins,omitempty" doc:"findings about logins to the host that the payload prevents"`
	MissingUnits  []string           `json:"missingUnits,omitempty" doc:"units that the payload needs and that do not exist, each with the reason"`
	report.CommandResult
}

// Err returns a failure with the code ChangesPlanned if the plan contains changes, for
// --detailed-exitcode.
func (d Document) Err() error {
	if d.Empty {
		return nil
	}
	return report.Fail(report.ChangesPlanned, "# apply the plan: run hcp-node-agent join with the same settings",
		"the plan contains changes")
}

// Show returns the changes that a join would make. It fetches the payload unless a file was given,
// but changes nothing, not even the agent's own state.
//
// The facts are those in the file of the options, or those of this host. If a payload was given as a
// file, and this process is not root on a host with systemd, they are the default facts.
func Show(ctx context.Context, options inputs.Options) (Document, error) {
	document := Document{TypeMeta: report.Meta("Plan")}
	b, err := openReadOnly(ctx, options, true)
	if err != nil {
		return document, err
	}
	defer b.Close()
	if err = b.fill(ctx, options, &document); err != nil && !b.Run.State.Exists() {
		err = options.CompleteError(err)
	}
	return document, err
}

// fill adds the changes that a join would make to a document.
func (b *Builder) fill(ctx context.Context, options inputs.Options, document *Document) error {
	if b.otherHost == nil && b.Host.Units == nil {
		return report.Fail(report.Refused, "# on another machine, with the facts that plan --print-facts prints on the "+
			"host:\nhcp-node-agent plan --payload FILE --facts FILE", "plan requires systemd on this host: %w", b.Host.UnitsErr)
	}
	uplink := NewUplink(b.Session)
	if err := uplink.Await(ctx, report.Log{Sink: b.Run.Sink, Step: steps.Plan}); err != nil {
		return err
	}
	if err := b.LoadPayload(ctx, report.Log{Sink: b.Run.Sink, Step: steps.Fetch}); err != nil {
		return err
	}
	if _, err := b.LoadSoftware(ctx, report.Log{Sink: b.Run.Sink, Step: steps.Plan}); err != nil {
		return err
	}
	b.Upgrading = !b.Loaded.IsSaved() && b.Run.State.Hosted && b.Run.State.Phase() == joinstate.PhaseJoined
	p, err := b.Build(ctx, uplink)
	if err != nil {
		return err
	}
	document.NodeName, document.NodePool = p.NodeName, p.NodePool
	document.Payload, document.Facts = b.payloadOrigin(options), b.factsOrigin(options)
	document.Software = b.Software
	if b.SoftwareErr != nil {
		document.SoftwareError = b.SoftwareErr.Error()
	}
	document.Notes, document.MissingUnits = p.Notes, p.MissingUnits
	document.Logins = b.checkLogins(ctx, uplink, p)
	options.CompleteFindings(document.Logins)
	if b.otherHost == nil && b.payloadFile == nil {
		var connections preflight.Result
		b.addConnections(ctx, &connections)
		document.Connections = connections.Findings
		options.CompleteFindings(document.Connections)
	}
	for _, one := range b.Run.Inputs.Overrides {
		document.Overrides = append(document.Overrides, one.Name)
	}
	if err := b.addChanges(ctx, document, p, options.Diff); err != nil {
		return err
	}
	if err := b.addSoftware(ctx, document, p, report.Log{Sink: b.Run.Sink, Step: steps.Plan}); err != nil {
		return err
	}
	document.Empty = len(document.Changes)+len(document.MissingUnits) == 0 && document.Unpacked == nil
	document.Empty = document.Empty && len(document.Effects) == 0 && p.Image == nil
	document.Upgrade = b.Upgrading && !document.Empty
	if p.Migration != nil {
		document.Network = newNetwork(*p.Migration)
		document.Empty = document.Empty && p.Migration.AlreadyAttached
	}
	document.NotPlanned = append(document.NotPlanned, b.notPlanned(p)...)
	return nil
}

// addChanges adds the changes of all steps that can be determined in advance, except those of the
// network.
func (b *Builder) addChanges(ctx context.Context, document *Document, p *Plan, diff bool) error {
	in := b.Accounts(p)
	if b.otherHost != nil {
		in.HomesUnknown = true
		for _, user := range in.UsersWithKeys() {
			if _, exists := b.otherHost.Users[user]; exists {
				document.NotPlanned = append(document.NotPlanned,
					"SSH keys of user "+user+": the facts do not contain home directories")
			}
		}
	}
	people, err := accounts.Plan(ctx, in)
	if err != nil {
		return err
	}
	requested := p.requested(people)
	pending, err := b.Host.Ledger.Diff(ctx, requested)
	if err != nil {
		return err
	}
	runtime := crio.Changes(p.Runtime)
	document.Changes = make([]PlannedChange, 0, len(pending))
	for _, one := range pending {
		if b.otherHost != nil && isImpliedParent(one, requested) {
			continue
		}
		change := plannedChange(one, slices.ContainsFunc(runtime, func(c ledger.Change) bool { return c.Key() == one.Key() }))
		if diff {
			change.Diff = textDiff(one)
		}
		document.Changes = append(document.Changes, change)
	}
	document.Unchanged = countUnchanged(requested, pending)
	obsolete := obsoleteItems(b.Host.Ledger.Items(), requested)
	for _, item := range obsolete {
		document.Obsolete = append(document.Obsolete, ObsoleteObject{Kind: item.Kind, Target: item.Target})
	}
	switch {
	case b.Upgrading:
		document.Effects = collectEffects(pending, obsolete, nil)
	case b.Run.State.Phase() == joinstate.PhaseJoined:
		document.Effects = collectEffects(pending, nil, nil).InJoin()
	}
	return nil
}
