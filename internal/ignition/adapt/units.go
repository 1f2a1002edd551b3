// SPDX-License-Identifier: Apache-2.0

package adapt

import (
	"path"
	"slices"
	"strings"

	"github.com/coreos/ignition/v2/config/util"
	"github.com/coreos/ignition/v2/config/v3_6/types"
	"k8s.io/utils/ptr"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/entries"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

const unitDirectory = entries.UnitDir

// reasonPayload is the reason of changes that no rule affects.
const reasonPayload = "payload"

// unitFileChange returns the change that writes a file and replaces an existing one.
func unitFileChange(target, contents string) ledger.Change {
	change := ledger.FileChange(target, reasonPayload, contents)
	change.Overwrite = true
	return change
}

func dropInPath(name, dropin string) string { return path.Join(unitDirectory, name+".d", dropin) }

func isMasked(u types.Unit) bool    { return util.IsTrue(u.Mask) }
func isEnabled(u types.Unit) bool   { return util.IsTrue(u.Enabled) }
func hasContents(u types.Unit) bool { return util.NotEmpty(u.Contents) }

// enablementChange returns the change that enables or disables a unit.
func enablementChange(u types.Unit) ledger.Change {
	state := "disabled"
	if isEnabled(u) {
		state = "enabled"
	}
	desired := ledger.State{Present: true, Enabled: state}
	return ledger.Change{Kind: ledger.Unit, Target: u.Name, Reason: reasonPayload, Desired: desired}
}

// templateOf returns the template of name@instance.service, "" for another name.
func templateOf(name string) string {
	stem, rest, found := strings.Cut(name, "@")
	suffix := path.Ext(name)
	if !found || rest == suffix {
		return ""
	}
	return stem + "@" + suffix
}

// sectionValues returns the values of keys in a section of a unit's contents and drop-ins.
func sectionValues(u types.Unit, name string, keys ...string) []string {
	var values []string
	parts := []string{ptr.Deref(u.Contents, "")}
	for _, dropin := range u.Dropins {
		parts = append(parts, ptr.Deref(dropin.Contents, ""))
	}
	for _, part := range parts {
		for _, option := range systemd.ParseOptions(part) {
			if option.Section == name && slices.Contains(keys, option.Name) {
				values = append(values, option.Value)
			}
		}
	}
	return values
}

// planStarts decides which enabled units are started before the next boot. The plan lists the units
// that are started with kubelet. A note names each other unit that a boot would have started,
// except units that the rules of the table cover.
func (p *planner) planStarts() {
	ofRelease := []string{openvswitch.Unit, openvswitch.DatabaseUnit, systemd.CRIOUnit} // other steps start them
	for _, r := range p.rules {
		if r.Kind == kindUnit && r.Name != excludeRuleName {
			ofRelease = append(ofRelease, r.Match...)
		}
	}
	ofRelease = append(ofRelease, p.loadedUnits()...)
	for _, change := range p.plan.Units {
		u, found := p.units.find(change.Target)
		switch {
		case !found || change.Desired.Enabled != "enabled":
		case staysActive(u):
			p.plan.StartUnits = append(p.plan.StartUnits, u.Name)
		case p.isAdapted() && slices.Contains([]string{".mount", ".automount", ".swap"}, path.Ext(u.Name)):
			p.plan.addReport(u.Name, "next-boot-mount", "enabled, but not mounted by the join: from the next boot on, "+
				"a mounted file system hides what its directory contains now")
		case p.isAdapted() && !slices.Contains(ofRelease, u.Name) &&
			(!hasContents(u) || isStartedAtBoot(u) || isStartedEarly(u)):
			p.plan.addReport(u.Name, "next-boot", "enabled, but neither started nor restarted by the join; "+
				"to start it before the next boot: systemctl restart "+u.Name)
		}
	}
}

// isStartedAtBoot reports whether a unit is started once per boot by a target that a running host
// has already reached.
func isStartedAtBoot(u types.Unit) bool {
	return isWantedBy(u, "multi-user.target", "default.target", "timers.target", "sockets.target", "paths.target")
}

// isWantedBy reports whether the unit is enabled for one of the targets.
func isWantedBy(u types.Unit, targets ...string) bool {
	wanting := strings.Join(sectionValues(u, "Install", "WantedBy", "RequiredBy"), " ")
	return path.Ext(u.Name) != ".target" && slices.ContainsFunc(strings.Fields(wanting), func(target string) bool {
		return slices.Contains(targets, target)
	})
}

// isStartedEarly reports whether a target of the early boot starts the unit, which the join does not.
func isStartedEarly(u types.Unit) bool {
	return isWantedBy(u, "sysinit.target", "basic.target", "local-fs.target", "remote-fs.target", "network-pre.target",
		"network.target", "network-online.target", "graphical.target")
}

// staysActive reports whether a unit of the payload is started at boot and then stays active: a
// service, timer, socket or path. Such a unit can be started at any time and be checked later.
func staysActive(u types.Unit) bool {
	if !hasContents(u) || !isStartedAtBoot(u) {
		return false
	}
	switch path.Ext(u.Name) {
	case ".timer", ".socket", ".path":
		return true
	case ".service":
		last := func(key, value string) bool {
			values := sectionValues(u, "Service", key)
			return len(values) > 0 && strings.EqualFold(values[len(values)-1], value)
		}
		remains := last("RemainAfterExit", "yes") || last("RemainAfterExit", "true")
		return len(sectionValues(u, "Service", "ExecStart")) > 0 && (!last("Type", "oneshot") || remains)
	}
	return false
}
