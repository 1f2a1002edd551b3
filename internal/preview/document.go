// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"context"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/effects"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/accounts"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/adapt"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/payload"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/preflight"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
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
	Overlaps      []report.Finding   `json:"overlaps,omitempty" doc:"findings about networks of this host that overlap those of the cluster; absent for another host"`
	// Adoption is set with --adopt.
	Adoption     *plan.AdoptionDocument `json:"adoption,omitempty" doc:"what join --adopt would record; absent without --adopt"`
	MissingUnits []string               `json:"missingUnits,omitempty" doc:"units that the payload needs and that do not exist, each with the reason"`
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
func Show(ctx context.Context, options request.Options) (Document, error) {
	document := Document{TypeMeta: report.Meta("Plan")}
	t, err := openTarget(ctx, options, request.UserDataRequired)
	if err != nil {
		return document, err
	}
	defer t.close()
	if err = t.fill(ctx, options, &document); err != nil && !t.session.Run.State.Exists() {
		err = options.CompleteError(err)
	}
	return document, err
}

// fill adds the changes that a join would make to a document.
func (t *target) fill(ctx context.Context, options request.Options, document *Document) error {
	s := t.session
	log := report.Log{Sink: s.Run.Sink, Step: steps.Plan}
	if t.otherHost == nil && s.Host.Units == nil {
		return report.Fail(report.Refused, "# on another machine, with the facts that plan --print-facts prints on the "+
			"host:\nhcp-node-agent plan --payload FILE --facts FILE", "plan requires systemd on this host: %w", s.Host.UnitsErr)
	}
	uplink := plan.NewUplink(s)
	if err := uplink.Await(ctx, log); err != nil {
		return err
	}
	loaded, err := t.loadPayload(ctx, report.Log{Sink: s.Run.Sink, Step: steps.Fetch})
	if err != nil {
		return err
	}
	s.Run.Upgrading = !loaded.IsSaved() && s.Run.State.Hosted && s.Run.State.Phase() == joinstate.PhaseJoined
	sw := plan.NewSoftware(s, loaded.Payload)
	if t.payloadFile == nil { // of a payload from a file, the image is not read
		if _, err := sw.Load(ctx, log); err != nil {
			return err
		}
	}
	p, err := t.build(ctx, uplink, loaded.Payload)
	if err != nil {
		return err
	}
	document.NodeName, document.NodePool = p.NodeName, p.NodePool
	if options.Adopt {
		if document.Adoption, err = t.adoption(ctx, p, loaded.Payload, log); err != nil {
			return err
		}
	}
	document.Payload, document.Facts = payloadOrigin(loaded, options), t.factsOrigin(options)
	document.Software = sw.Contents
	if sw.Err != nil {
		document.SoftwareError = sw.Err.Error()
	}
	document.Notes, document.MissingUnits = p.Notes, p.MissingUnits
	if t.otherHost == nil {
		document.Logins = s.CheckLogins(ctx, uplink, p)
		options.CompleteFindings(document.Logins)
		overlaps, err := checkNetworks(s, uplink, loaded.Payload)
		if err != nil {
			return err
		}
		document.Overlaps = overlaps.Findings
	}
	if t.otherHost == nil && t.payloadFile == nil {
		var connections preflight.Result
		addConnections(ctx, s, loaded.Payload, &connections)
		document.Connections = connections.Findings
		options.CompleteFindings(document.Connections)
	}
	for _, one := range loaded.Overrides {
		document.Overrides = append(document.Overrides, one.Name)
	}
	if err := t.addChanges(ctx, document, p, options.Diff); err != nil {
		return err
	}
	if err := t.addSoftware(ctx, document, sw, p, log); err != nil {
		return err
	}
	document.Empty = len(document.Changes)+len(document.MissingUnits) == 0 && document.Unpacked == nil
	document.Empty = document.Empty && len(document.Effects) == 0 && p.Image == nil
	document.Upgrade = s.Run.Upgrading && !document.Empty
	if p.Migration != nil {
		document.Network = newNetwork(*p.Migration)
		document.Empty = document.Empty && p.Migration.AlreadyAttached
	}
	document.NotPlanned = append(document.NotPlanned, t.notPlanned(p)...)
	return nil
}

// adoption returns what join --adopt would record. It fails if this host would be refused.
func (t *target) adoption(
	ctx context.Context, p *plan.Plan, rendered *ignition.Payload, log report.Log,
) (*plan.AdoptionDocument, error) {
	s := t.session
	adopting, err := joinstate.IsAdopting(s.Run.Dir, s.Run.State)
	if err == nil {
		err = plan.CheckUnrecorded(s.Run.State, s.Host.Ledger.Items(), adopting)
	}
	if err != nil {
		return nil, err
	}
	facts, err := s.AdoptionFacts(ctx, p, rendered, log)
	if err == nil {
		err = facts.Check()
	}
	if err != nil {
		return nil, err
	}
	adoption, err := s.CompareAdoption(ctx, p)
	return adoption.Document(), err
}

// loadPayload gets the payload with the overrides: the given file, else the saved one, else the server's.
func (t *target) loadPayload(ctx context.Context, log report.Log) (payload.Loaded, error) {
	run := t.session.Run
	if t.payloadFile != nil {
		return payload.Get(ctx, run.Request, log, payload.File{Content: t.payloadFile})
	}
	return payload.Get(ctx, run.Request, log, run.SavedPayload(), run.PayloadServer())
}

// build decides what a join with the payload does to this host, or to another one.
func (t *target) build(ctx context.Context, uplink *plan.Uplink, rendered *ignition.Payload) (*plan.Plan, error) {
	if t.otherHost == nil {
		return t.session.Build(ctx, uplink, rendered)
	}
	facts, err := t.otherFacts()
	if err != nil {
		return nil, err
	}
	return plan.Build(facts, rendered, t.session.Run.Settings())
}

// addChanges adds the changes of all steps that can be determined in advance, except those of the
// network.
func (t *target) addChanges(ctx context.Context, document *Document, p *plan.Plan, diff bool) error {
	run, records := t.session.Run, t.session.Host.Ledger
	in := t.session.Accounts(p)
	if t.otherHost != nil {
		in.HomesUnknown = true
		for _, user := range in.UsersWithKeys() {
			if _, exists := t.otherHost.Users[user]; exists {
				document.NotPlanned = append(document.NotPlanned,
					"SSH keys of user "+user+": the facts do not contain home directories")
			}
		}
	}
	people, err := accounts.Plan(ctx, in)
	if err != nil {
		return err
	}
	requested := p.Requested(people)
	pending, err := records.Diff(ctx, requested)
	if err != nil {
		return err
	}
	runtime := crio.Changes(p.Runtime)
	document.Changes = make([]PlannedChange, 0, len(pending))
	for _, one := range pending {
		if t.otherHost != nil && isImpliedParent(one, requested) {
			continue
		}
		change := plannedChange(one, slices.ContainsFunc(runtime, func(c ledger.Change) bool { return c.Key() == one.Key() }))
		if diff {
			change.Diff = textDiff(one)
		}
		document.Changes = append(document.Changes, change)
	}
	document.Unchanged = countUnchanged(requested, pending)
	obsolete := plan.ObsoleteItems(records.Items(), requested)
	for _, item := range obsolete {
		document.Obsolete = append(document.Obsolete, ObsoleteObject{Kind: item.Kind, Target: item.Target})
	}
	switch {
	case run.Upgrading:
		document.Effects = plan.CollectEffects(pending, obsolete, nil)
	case run.State.Phase() == joinstate.PhaseJoined:
		document.Effects = plan.CollectEffects(pending, nil, nil).InJoin()
	}
	return nil
}
