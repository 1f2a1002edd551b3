// SPDX-License-Identifier: Apache-2.0

package adapt

import (
	"path"
	"slices"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_6/types"
	"k8s.io/utils/ptr"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
)

const (
	coreUser = "core" // the only account that MachineConfigs may name

	// appliedMarker is the file that makes configure-ovs.sh keep an existing bridge, from
	// OpenShift 4.16 on.
	appliedMarker    = "/etc/nmstate/openshift/applied"
	configureOVSPath = "/usr/local/bin/configure-ovs.sh"
)

// condition reports whether a rule applies to an entry.
type condition = func(p *planner, about subject) bool

// allOf returns the condition that all conditions are met.
func allOf(conditions ...condition) condition {
	return func(p *planner, e subject) bool {
		return !slices.ContainsFunc(conditions, func(c condition) bool { return !c(p, e) })
	}
}

// isPackageMode reports whether the host is in package mode, not booted from an image.
func isPackageMode(p *planner, _ subject) bool { return !p.in.Facts.OSTree }

func isStandaloneCluster(p *planner, _ subject) bool { return !p.in.Hosted }

func isHostedPackageMode(p *planner, e subject) bool { return p.in.Hosted && isPackageMode(p, e) }

// reportsHostSettings reports whether the settings of the host are left to the administrator.
func reportsHostSettings(p *planner, _ subject) bool { return !p.in.ApplyHostSettings }

func isReadableByOthers(_ *planner, e subject) bool { return e.mode&0o077 != 0 }

func lacksUser(name string) condition {
	return func(p *planner, _ subject) bool {
		_, found := p.in.User(name)
		return !found
	}
}

// excludesIfcfgPlugin reports whether a NetworkManager configuration lists its plugins without the one
// for ifcfg files.
func excludesIfcfgPlugin(_ *planner, e subject) bool {
	for line := range strings.Lines(e.content) {
		if name, value, found := strings.Cut(line, "="); found && strings.TrimSpace(name) == "plugins" {
			return !strings.Contains(value, "ifcfg-rh")
		}
	}
	return false
}

// setsAnyKey returns a condition: whether a file of key=value lines sets one of the keys.
func setsAnyKey(keys ...string) condition {
	return func(_ *planner, e subject) bool {
		for line := range strings.Lines(e.content) {
			name, _, found := strings.Cut(line, "=")
			if found && slices.Contains(keys, strings.TrimRight(strings.TrimSpace(name), "+-")) {
				return true
			}
		}
		return false
	}
}

// hasSecret reports whether a file or drop-in contains a secret. Three files always do,
// whatever their content looks like.
func hasSecret(_ *planner, e subject) bool {
	known := []string{ignition.BootstrapKubeconfigPath, "/etc/mcs-machine-config-content.json", "/var/lib/kubelet/config.json"}
	return slices.Contains(known, e.path) || ignition.ContainsSecret([]byte(e.content))
}

func isSELinuxEnabled(p *planner, _ subject) bool {
	return p.in.Facts.SELinux == "enforcing" || p.in.Facts.SELinux == "permissive"
}

func lacksNmstateFiles(p *planner, _ subject) bool {
	for name := range p.payload.Contents {
		if path.Dir(name) == "/etc/nmstate" && strings.HasSuffix(name, ".yml") {
			return false
		}
	}
	return true
}

// ignoresAppliedMarker reports whether configure-ovs.sh is missing from the payload, or always builds
// br-ex because it does not check appliedMarker.
func ignoresAppliedMarker(p *planner, _ subject) bool { return readConfigureOVS(p).markerLine < 0 }

// keepsOVNRemote reports whether configure-ovs.sh does not clear ovn-remote before it checks
// appliedMarker.
func keepsOVNRemote(p *planner, _ subject) bool {
	script := readConfigureOVS(p)
	return script.clearRemoteLine < 0 || script.clearRemoteLine > script.markerLine
}

func readConfigureOVS(p *planner) ovsScript {
	content, _, _ := p.payload.File(configureOVSPath)
	return parseOVSScript(string(content))
}

// ovsScript holds the line numbers of two actions of a configure-ovs.sh, -1 for a missing one.
type ovsScript struct {
	markerLine      int // checks appliedMarker
	clearRemoteLine int // clears ovn-remote
}

// parseOVSScript searches the commands of a script and ignores its comments.
func parseOVSScript(content string) ovsScript {
	found := ovsScript{markerLine: -1, clearRemoteLine: -1}
	n := 0
	for line := range strings.Lines(content) {
		line = strings.TrimSpace(line)
		n++
		switch {
		case strings.HasPrefix(line, "#"):
		case found.markerLine < 0 && strings.Contains(line, appliedMarker):
			found.markerLine = n
		case found.clearRemoteLine < 0 && strings.Contains(line, "ovs-vsctl") && strings.Contains(line, "ovn-remote"):
			found.clearRemoteLine = n
		}
	}
	return found
}

func runsKubelet(p *planner, _ subject) bool {
	_, found := p.provided[kubeletUnit]
	return found
}

func hasExecStop(_ *planner, e subject) bool {
	return len(sectionValues(e.unit, "Service", "ExecStop")) > 0
}

func enabledAnd(is func(types.Unit) bool) condition {
	return func(_ *planner, e subject) bool { return isEnabled(e.unit) && is(e.unit) }
}

func lacksInstallSection(u types.Unit) bool {
	return ptr.Deref(u.Contents, "") != "" && !isInstallable(u)
}

func lacksDefaultInstance(u types.Unit) bool {
	return ptr.Deref(u.Contents, "") != "" && len(sectionValues(u, "Install", "DefaultInstance")) == 0
}

// isStatic reports whether the payload enables a unit of the host that cannot be enabled, such as
// ovsdb-server.service on RHEL.
func isStatic(p *planner, e subject) bool {
	if !isEnabled(e.unit) || ptr.Deref(e.unit.Contents, "") != "" {
		return false
	}
	state := p.in.UnitFileState(e.unit.Name)
	return state == "static" || state == "generated"
}

// masksHostUnit reports whether the payload masks a unit that the host has and does not mask.
func masksHostUnit(p *planner, e subject) bool {
	return isMasked(e.unit) && p.in.HasUnit(e.unit.Name) && p.in.UnitFileState(e.unit.Name) != "masked"
}

func unmasksHostUnit(p *planner, e subject) bool {
	u := e.unit
	return u.Mask != nil && !*u.Mask && ptr.Deref(u.Contents, "") == "" && p.in.UnitFileState(u.Name) == "masked"
}

func runsPodman(_ *planner, e subject) bool {
	return strings.Contains(ptr.Deref(e.unit.Contents, ""), "/usr/bin/podman")
}

func hasDropins(_ *planner, e subject) bool { return len(e.unit.Dropins) > 0 }

// isNotInstalled reports whether the payload only extends, enables or disables a unit that is not
// installed and that no other unit needs. Masks are excluded because they can be written anyway.
// Units of packages that are needed for other units are excluded because they will be installed.
func isNotInstalled(p *planner, e subject) bool {
	u := e.unit
	return ptr.Deref(u.Contents, "") == "" && !isMasked(u) && !p.isAvailable(u.Name) && p.needed[u.Name] == "" && !p.comesWithRequiredPackage(u.Name)
}
