// SPDX-License-Identifier: Apache-2.0

package effects

import (
	"path"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/schema"
)

// Action is how a change takes effect on a running node.
type Action string

// The actions.
const (
	Nothing          Action = "nothing"            // the change takes effect when it is written
	AtBoot           Action = "at boot"            // the change takes effect at the next boot
	Load             Action = "load"               // the agent runs the command of a Loader
	Reload           Action = "reload"             // of a unit; containers keep running
	Restart          Action = "restart"            // of a unit, if it is active; containers keep running
	RestartStaticPod Action = "restart static pod" // only the containers of that pod
	Reboot           Action = "reboot"
)

// Enum returns all actions.
func (Action) Enum() []string {
	return schema.Strings(Nothing, AtBoot, Load, Reload, Restart, RestartStaticPod, Reboot)
}

// Effect describes how one change takes effect.
type Effect struct {
	Target string `json:"target" doc:"path or name of the changed object"`
	Action Action `json:"action" doc:"how the change takes effect on the running node"`
	Unit   string `json:"unit,omitempty" doc:"unit that is reloaded, or restarted if it is active; absent for other actions"`
	Drain  bool   `json:"drain,omitempty" doc:"whether the node is drained before"`
	Reason string `json:"reason" doc:"reason for the action"`
}

// String describes the action without its target: restart kubelet.service after a drain.
func (e Effect) String() string {
	text := string(e.Action)
	if e.Unit != "" {
		text += " " + e.Unit
	}
	if e.Drain {
		text += " after a drain"
	}
	return text
}

// Effects are the effects of an upgrade.
type Effects []Effect

// NeedsDrain reports whether the node must be drained.
func (e Effects) NeedsDrain() bool {
	return slices.ContainsFunc(e, func(effect Effect) bool { return effect.Drain })
}

// Requires reports whether a change has the action on the unit.
func (e Effects) Requires(action Action, unit string) bool {
	return slices.ContainsFunc(e, func(effect Effect) bool { return effect.Action == action && effect.Unit == unit })
}

// UnitsToRestart returns the units that are restarted, in order and without duplicates.
func (e Effects) UnitsToRestart() []string {
	var units []string
	for _, effect := range e {
		if effect.Action == Restart {
			units = lists.AppendMissing(units, effect.Unit)
		}
	}
	return units
}

// InJoin returns the effects in a join that is repeated on a running node. It does not drain the node, and
// does not restart NetworkManager under running pods.
func (e Effects) InJoin() Effects {
	effects := slices.Clone(e)
	for i, effect := range effects {
		effects[i].Drain = false
		if effect.Unit == systemd.NetworkManagerUnit {
			effects[i].Action, effects[i].Unit = AtBoot, ""
		}
	}
	return effects
}

// Merge returns e and the effects of more that e does not contain.
func (e Effects) Merge(more Effects) Effects { return lists.AppendMissing(slices.Clone(e), more...) }

// OfPath returns the effect of a change of a file or link, whether it is added, changed or removed.
func OfPath(target string) Effect {
	for _, r := range rules {
		if r.matches(target) {
			return Effect{Target: target, Action: r.action, Unit: r.unit, Drain: r.drain, Reason: r.reason}
		}
	}
	if unit := unitOf(target); unit != "" {
		return Effect{Target: target, Action: Restart, Unit: unit, Reason: "systemd reads it when the unit starts"}
	}
	return Effect{Target: target, Action: Nothing, Reason: "programs read it when they start: no rule names a service"}
}

const unitDirectory = "/etc/systemd/system"

// unitOf returns the unit to which a unit file or drop-in belongs, or "". Links in the directories
// of dependencies, such as multi-user.target.wants, belong to none.
func unitOf(target string) string {
	if !hostfs.IsWithin(target, unitDirectory) {
		return ""
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(target, unitDirectory+"/"), "/")
	name = strings.TrimSuffix(name, ".d")
	if ext := path.Ext(name); ext == ".wants" || ext == ".requires" || strings.Contains(name, "@.") {
		return ""
	}
	return name
}

// OfImage returns the effect of another image of the operating system.
func OfImage(image string) Effect {
	return Effect{
		Target: image, Action: Reboot, Drain: true, Reason: "the host boots the image, which contains kubelet and CRI-O",
	}
}

// OfPackage returns the effect of another version of a package.
func OfPackage(name string) Effect {
	effect := Effect{Target: name, Action: Nothing, Drain: true, Reason: "the package has another version"}
	switch {
	case strings.HasPrefix(name, "openshift-kubelet"), strings.HasPrefix(name, "openshift-hyperkube"):
		effect.Action, effect.Unit = Restart, systemd.KubeletUnit
	case name == "cri-o":
		effect.Action, effect.Unit = Restart, systemd.CRIOUnit
	case strings.HasPrefix(name, "openvswitch"):
		effect.Action, effect.Reason = AtBoot, "a restart of Open vSwitch interrupts the network of the host"
	default:
		effect.Drain = false
	}
	return effect
}
