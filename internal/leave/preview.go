// SPDX-License-Identifier: Apache-2.0

package leave

import (
	"context"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node"
	"github.com/hcp-node-agent/hcp-node-agent/internal/packages"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/schema"
)

// PreviewDocument describes what a leave would do.
type PreviewDocument struct {
	report.TypeMeta
	NodeName    string                       `json:"nodeName,omitempty" doc:"name of the Node"`
	NodePool    string                       `json:"nodePool,omitempty" doc:"NAMESPACE/NAME of the NodePool; absent for a standalone cluster"`
	Changes     []Change                     `json:"changes" doc:"changes that would be reverted, in the order of the leave"`
	Drift       []ledger.PublishedDifference `json:"drift" doc:"objects that were changed since the join; a leave keeps those that were changed by others"`
	NotRestored []string                     `json:"notRestored,omitempty" doc:"changes that cannot be reverted, as messages"`
	Next        string                       `json:"next,omitempty" doc:"command that deletes the Node; absent if the host is no node"`
	report.CommandResult
}

// Change is one change that a leave would revert.
type Change struct {
	Kind   ledger.Kind `json:"kind" doc:"kind of the object, such as file, link, unit or sysctl"`
	Target string      `json:"target" doc:"path or name of the object"`
	Step   string      `json:"step" doc:"step of the join that changed the object"`
	Action Action      `json:"action" doc:"how the change would be reverted"`
}

// Action is how a change would be reverted.
type Action string

// The actions.
const (
	Remove  Action = "remove"  // the object did not exist before the join
	Restore Action = "restore" // to its former state
)

// Enum returns all actions.
func (Action) Enum() []string { return schema.Strings(Remove, Restore) }

// Preview returns what a leave would do. It changes nothing.
func Preview(ctx context.Context, stateDir string) (PreviewDocument, error) {
	document := PreviewDocument{TypeMeta: report.Meta("LeavePreview")}
	state, err := joinstate.Read(stateDir)
	if err != nil {
		return document, err
	}
	m, err := machine.Open(ctx, stateDir, false)
	if err != nil {
		return document, err
	}
	defer m.Close()
	drift, err := m.Ledger.Drift(ctx)
	if err != nil {
		return document, err
	}
	items := m.Ledger.Items()
	document.NodeName, document.NodePool = state.NodeName, state.NodePool
	document.Drift = ledger.Publish(drift)
	document.NotRestored = (&Flow{Machine: m}).notRestored(items)
	for _, item := range slices.Backward(items) {
		if item.Kind == packages.TransactionKind {
			continue // in NotRestored
		}
		change := Change{Kind: item.Kind, Target: item.Target, Step: item.Step, Action: Restore}
		if !item.Before.Present {
			change.Action = Remove
		}
		document.Changes = append(document.Changes, change)
	}
	if state.NodeName != "" && state.LastStep != "" {
		document.Next = node.DeleteCommand(state.NodeName)
	}
	return document, nil
}
