// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"github.com/hcp-node-agent/hcp-node-agent/internal/kinds"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/schema"
)

// Action is the effect of a change on its target.
type Action string

// Actions of planned changes.
const (
	ActionAdd        Action = "add"
	ActionChange     Action = "change"
	ActionRemove     Action = "remove"
	ActionAttributes Action = "attributes" // only the mode or owner changes
)

// Enum returns all actions.
func (Action) Enum() []string {
	return schema.Strings(ActionAdd, ActionChange, ActionRemove, ActionAttributes)
}

// PlannedChange is a change that a join would make.
type PlannedChange struct {
	Group     kinds.Group  `json:"group" doc:"heading under which the plan lists the change"`
	Action    Action       `json:"action" doc:"effect on the object; attributes: only the mode or owner changes"`
	Kind      ledger.Kind  `json:"kind" doc:"kind of the object, such as file, link, unit or sysctl"`
	Target    string       `json:"target" doc:"path or name of the object"`
	Reason    string       `json:"reason,omitempty" doc:"source of the setting"`
	Desired   ledger.State `json:"desired" doc:"state after the join; attributes that are absent do not change"`
	Now       ledger.State `json:"now" doc:"current state"`
	Overwrite bool         `json:"overwrite,omitempty" doc:"whether the payload allows an existing object to be replaced"`
	Diff      string       `json:"diff,omitempty" doc:"with --diff: unified diff with secrets masked, or why there is none"`
}

func plannedChange(p ledger.PlannedChange, runtime bool) PlannedChange {
	change := PlannedChange{
		Group:     kinds.GroupOf(p.Change),
		Action:    actionOf(p),
		Kind:      p.Kind,
		Target:    p.Target,
		Reason:    p.Reason,
		Desired:   p.Desired.Published(),
		Now:       p.Now.Published(),
		Overwrite: p.Overwrite,
	}
	if runtime {
		change.Group = kinds.GroupRuntime
	}
	return change
}

func actionOf(p ledger.PlannedChange) Action {
	switch {
	case !p.Desired.Present:
		return ActionRemove
	case !p.Now.Present:
		return ActionAdd
	case p.Now.Type != "" && onlyAttributes(p):
		return ActionAttributes
	}
	return ActionChange
}

// onlyAttributes reports whether a path differs from its desired state only in mode
// or owner.
func onlyAttributes(p ledger.PlannedChange) bool {
	alike := p.Change
	alike.Desired.Mode, alike.Desired.UID, alike.Desired.GID = nil, nil, nil
	return alike.Matches(p.Now)
}
