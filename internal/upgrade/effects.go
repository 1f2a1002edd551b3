// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"path"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/schema"
)

// Action is how a change takes effect on a running node.
type Action string

// The actions.
const (
	Nothing               Action = "nothing"                // it takes effect when it is written
	AtBoot                Action = "at boot"                // it takes effect at the next boot
	ReloadCRIO            Action = "reload CRI-O"           // containers keep running
	RestartCRIO           Action = "restart CRI-O"          // containers keep running
	RestartKubelet        Action = "restart kubelet"        // containers keep running
	RestartNetworkManager Action = "restart NetworkManager" // addresses remain
	RestartStaticPod      Action = "restart static pod"     // only the containers of that pod
	RestartUnit           Action = "restart unit"           // if it is active
	Reboot                Action = "reboot"
)

// Enum returns all actions.
func (Action) Enum() []string {
	return schema.Strings(Nothing, AtBoot, ReloadCRIO, RestartCRIO, RestartKubelet, RestartNetworkManager, RestartStaticPod, RestartUnit, Reboot)
}

// Effect describes how one change takes effect.
type Effect struct {
	Target string `json:"target" doc:"path or name of the changed object"`
	Action Action `json:"action" doc:"how the change takes effect on the running node; at boot: at the next boot"`
	Unit   string `json:"unit,omitempty" doc:"unit that is restarted if it is active; absent for other actions"`
	Drain  bool   `json:"drain,omitempty" doc:"whether the node is drained before"`
	Reason string `json:"reason" doc:"reason for the action"`
}

// Effects are the effects of an upgrade.
type Effects []Effect

// NeedsDrain reports whether the node must be drained.
func (e Effects) NeedsDrain() bool {
	return slices.ContainsFunc(e, func(effect Effect) bool { return effect.Drain })
}

// Needs reports whether a change has the action.
func (e Effects) Needs(action Action) bool {
	return slices.ContainsFunc(e, func(effect Effect) bool { return effect.Action == action })
}

// Units returns the units that are restarted, in order and without duplicates.
func (e Effects) Units() []string {
	var units []string
	for _, effect := range e {
		if effect.Action == RestartUnit && !slices.Contains(units, effect.Unit) {
			units = append(units, effect.Unit)
		}
	}
	return units
}

// Merge returns e and the effects of more that e does not contain.
func (e Effects) Merge(more Effects) Effects {
	merged := slices.Clone(e)
	for _, effect := range more {
		if !slices.Contains(merged, effect) {
			merged = append(merged, effect)
		}
	}
	return merged
}

// EffectOf returns the effect of a change of an object, whether it is added, changed or removed.
func EffectOf(kind ledger.Kind, target string) Effect {
	effect := Effect{Target: target, Action: Nothing, Reason: "the agent applies it"}
	switch kind {
	case ledger.File, ledger.Symlink, ledger.HardLink:
	case ledger.KernelArguments:
		effect.Action, effect.Drain, effect.Reason = Reboot, true, "the kernel reads its arguments at boot"
		return effect
	case ledger.Directory:
		effect.Reason = "a directory has no content of its own"
		return effect
	default:
		return effect
	}
	if rule, found := findRule(target); found {
		effect.Action, effect.Drain, effect.Reason = rule.action, rule.drain, rule.reason
		return effect
	}
	if unit := unitOf(target); unit != "" {
		effect.Action, effect.Unit, effect.Reason = RestartUnit, unit, "systemd reads it when the unit starts"
		return effect
	}
	effect.Reason = "programs read it when they start: no rule names a service"
	return effect
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

// SoftwareEffect returns the effect of another version of a package.
func SoftwareEffect(name string) Effect {
	effect := Effect{Target: name, Action: Nothing, Drain: true, Reason: "the package has another version"}
	switch {
	case strings.HasPrefix(name, "openshift-kubelet"), strings.HasPrefix(name, "openshift-hyperkube"):
		effect.Action = RestartKubelet
	case name == "cri-o":
		effect.Action = RestartCRIO
	case strings.HasPrefix(name, "openvswitch"):
		effect.Action, effect.Reason = AtBoot, "a restart of Open vSwitch interrupts the network of the host"
	default:
		effect.Drain = false
	}
	return effect
}
