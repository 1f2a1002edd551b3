package bootstrap

import (
	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/accounts"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// Group is what a change is shown with in a plan.
type Group string

// The groups, in the order in which a plan shows them. Changes of other kinds
// are in a group that is called as their kind.
const (
	GroupFiles   Group = "files"
	GroupUnits   Group = "units"
	GroupKernel  Group = "kernel"
	GroupUsers   Group = "users"
	GroupRuntime Group = "runtime"
)

// Action is what is done to a thing.
type Action string

// The actions.
const (
	ActionAdd        Action = "add"
	ActionChange     Action = "change"
	ActionRemove     Action = "remove"
	ActionAttributes Action = "attributes" // its mode or owner alone
)

// PlannedChange is one change of a plan.
type PlannedChange struct {
	ledger.Pending
	Group  Group  `json:"group"`
	Action Action `json:"action"`
	Diff   string `json:"diff,omitempty"` // a unified difference without secrets, or why there is none
}

func plannedChange(p ledger.Pending, runtime bool) PlannedChange {
	change := PlannedChange{Pending: p, Group: groupOf(p.Change), Action: actionOf(p)}
	if runtime {
		change.Group = GroupRuntime
	}
	return change
}

func groupOf(c ledger.Change) Group {
	switch c.Kind {
	case ledger.File, ledger.Directory, ledger.Link, ledger.HardLink:
		if host.Within(c.Target, "/etc/systemd/system") {
			return GroupUnits
		}
		return GroupFiles
	case ledger.Unit:
		return GroupUnits
	case ledger.Sysctl, ledger.Module:
		return GroupKernel
	case accounts.User, accounts.Group, accounts.Keys, accounts.KeysDir:
		return GroupUsers
	}
	return Group(c.Kind)
}

func actionOf(p ledger.Pending) Action {
	switch {
	case !p.Want.Present:
		return ActionRemove
	case !p.Now.Present:
		return ActionAdd
	case p.Now.Type != "" && onlyAttributes(p):
		return ActionAttributes
	}
	return ActionChange
}

// onlyAttributes tells whether a path is all that it shall be but for its mode
// or owner.
func onlyAttributes(p ledger.Pending) bool {
	alike := p.Change
	alike.Want.Mode, alike.Want.UID, alike.Want.GID = nil, nil, nil
	return alike.Same(p.Now)
}
