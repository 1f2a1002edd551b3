package plan

import (
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/accounts"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// Group is the heading under which a plan lists a change.
type Group string

// The groups in the order of a plan. Changes of other kinds have a group named
// after their kind.
const (
	GroupFiles   Group = "files"
	GroupUnits   Group = "units"
	GroupKernel  Group = "kernel"
	GroupUsers   Group = "users"
	GroupRuntime Group = "runtime"
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

// PlannedChange is a change that a join would make.
type PlannedChange struct {
	ledger.PlannedChange
	Group  Group  `json:"group"`
	Action Action `json:"action"`
	Diff   string `json:"diff,omitempty"` // unified diff with secrets masked, or the reason why there is none
}

func plannedChange(p ledger.PlannedChange, runtime bool) PlannedChange {
	change := PlannedChange{PlannedChange: p, Group: groupOf(p.Change), Action: actionOf(p)}
	if runtime {
		change.Group = GroupRuntime
	}
	return change
}

func groupOf(c ledger.Change) Group {
	switch c.Kind {
	case ledger.File, ledger.Directory, ledger.Symlink, ledger.HardLink:
		if hostfs.IsWithin(c.Target, "/etc/systemd/system") {
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
