// SPDX-License-Identifier: Apache-2.0

package adapt

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
)

const (
	// appliedMarker is the file that makes configure-ovs.sh keep an existing bridge, from
	// OpenShift 4.16 on.
	appliedMarker    = "/etc/nmstate/openshift/applied"
	configureOVSPath = "/usr/local/bin/configure-ovs.sh"
)

// conditions are the conditions of rules: whether a rule applies to an entry.
var conditions = map[string]func(p *planner, about subject) bool{
	"hosted":                 func(p *planner, _ subject) bool { return p.in.Hosted },
	"standalone":             func(p *planner, _ subject) bool { return !p.in.Hosted },
	"adapted":                func(p *planner, _ subject) bool { return p.isAdapted() },
	"native":                 func(p *planner, _ subject) bool { return !p.isAdapted() },
	"runs-kubelet":           func(p *planner, _ subject) bool { return p.units.runsKubelet() },
	"selinux-enabled":        func(p *planner, _ subject) bool { return isSELinuxEnabled(p.in.Facts) },
	"lacks-core-user":        lacksCoreUser,
	"updates-its-image":      func(p *planner, _ subject) bool { return p.in.HasUnit(imageUpdateService) },
	"readable-by-others":     func(_ *planner, e subject) bool { return e.mode&0o077 != 0 },
	"has-secret":             hasSecret,
	"is-unit-file":           isUnitFile,
	"empty":                  func(_ *planner, e subject) bool { return e.content == "" },
	"excludes-ifcfg-plugin":  excludesIfcfgPlugin,
	"moves-image-storage":    movesImageStorage,
	"sets-dhcp-identity":     setsAnyKey("ipv6.dhcp-duid", "ipv6.dhcp-iaid", "ipv4.dhcp-client-id"),
	"sets-managed-devices":   setsAnyKey("managed", "unmanaged-devices"),
	"lacks-nmstate-files":    lacksNmstateFiles,
	"creates-bridge-at-boot": func(p *planner, _ subject) bool { return p.in.CreatesBridgeAtBoot },
	"ignores-applied-marker": ignoresAppliedMarker,
	"keeps-ovn-remote":       keepsOVNRemote,
	"enabled":                func(_ *planner, e subject) bool { return isEnabled(e.unit) },
	"masked":                 func(_ *planner, e subject) bool { return isMasked(e.unit) },
	"has-drop-ins":           func(_ *planner, e subject) bool { return len(e.unit.Dropins) > 0 },
	"has-exec-stop":          func(_ *planner, e subject) bool { return e.unitHas("Service", "ExecStop") },
	"lacks-default-instance": func(_ *planner, e subject) bool {
		return hasContents(e.unit) && !e.unitHas("Install", "DefaultInstance")
	},
	"lacks-install-section": func(_ *planner, e subject) bool {
		return hasContents(e.unit) && !e.unitHas("Install", "WantedBy", "RequiredBy", "UpheldBy", "Also", "Alias")
	},
	"runs-podman":       runsPodman,
	"static":            isStatic,
	"masks-host-unit":   masksHostUnit,
	"unmasks-host-unit": unmasksHostUnit,
	notInstalled:        isNotInstalled,
}

// notInstalled is the condition that depends on the planned units.
const notInstalled = "not-installed"

// isAdapted reports whether the payload is adapted to the host. It was rendered for RHEL CoreOS, whose own units
// apply it unchanged.
func (p *planner) isAdapted() bool { return !p.in.Facts.Capabilities().OwnsPayload }

func isSELinuxEnabled(facts hostinfo.Facts) bool {
	return facts.SELinux == "enforcing" || facts.SELinux == "permissive"
}

func lacksCoreUser(p *planner, _ subject) bool {
	_, found := p.in.User["core"]
	return !found
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

var graphRoot = regexp.MustCompile(`(?m)^\s*graphroot\s*=\s*"([^"]*)"`)

// movesImageStorage reports whether a storage.conf has another directory of images and containers than the one of the
// host, if that exists.
func movesImageStorage(p *planner, e subject) bool {
	now, _, err := p.in.Tree.ReadFile("/etc/containers/storage.conf")
	before, after := graphRoot.FindSubmatch(now), graphRoot.FindStringSubmatch(e.content)
	return err == nil && before != nil && after != nil && string(before[1]) != after[1]
}

// setsAnyKey returns a condition: whether a file of key=value lines sets one of the keys.
func setsAnyKey(keys ...string) func(*planner, subject) bool {
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

// hasSecret reports whether a file or drop-in contains a secret. Three files always do, and those that have one in each
// line, whatever their content looks like.
func hasSecret(_ *planner, e subject) bool {
	known := []string{
		ignition.BootstrapKubeconfigPath, "/etc/mcs-machine-config-content.json", "/var/lib/kubelet/config.json",
	}
	names := []string{".pgpass", ".netrc", "chap-secrets", "pap-secrets", "ipsec.secrets"}
	isKnown := slices.Contains(known, e.path) || slices.Contains(names, path.Base(e.path))
	return isKnown || ignition.ContainsSecret(e.content)
}

// isUnitFile reports whether the path has the suffix of a unit that systemd starts (systemd.unit(5)).
func isUnitFile(_ *planner, e subject) bool {
	return slices.Contains([]string{
		".service", ".socket", ".mount", ".automount", ".swap", ".target", ".path", ".timer", ".slice",
	}, path.Ext(e.path))
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
func ignoresAppliedMarker(p *planner, _ subject) bool {
	return ovsScriptLine(p.payload, appliedMarker) < 0
}

// keepsOVNRemote reports whether configure-ovs.sh does not clear ovn-remote before it checks
// appliedMarker.
func keepsOVNRemote(p *planner, _ subject) bool {
	clearing := ovsScriptLine(p.payload, "ovs-vsctl", "ovn-remote")
	return clearing < 0 || clearing > ovsScriptLine(p.payload, appliedMarker)
}

// ovsScriptLine returns the index of the first line of configure-ovs.sh that contains all words and is no
// comment, -1 for none.
func ovsScriptLine(payload *ignition.Payload, words ...string) int {
	content, _, _ := payload.File(configureOVSPath)
	return slices.IndexFunc(strings.Split(string(content), "\n"), func(line string) bool {
		isMissing := func(word string) bool { return !strings.Contains(line, word) }
		return !strings.HasPrefix(strings.TrimSpace(line), "#") && !slices.ContainsFunc(words, isMissing)
	})
}

// isStatic reports whether the payload enables a unit of the host that cannot be enabled, such as
// ovsdb-server.service on RHEL.
func isStatic(p *planner, e subject) bool {
	state := p.in.UnitFileState(e.unit.Name)
	return isEnabled(e.unit) && !hasContents(e.unit) && (state == "static" || state == "generated")
}

// masksHostUnit reports whether the payload masks a unit that the host has and does not mask.
func masksHostUnit(p *planner, e subject) bool {
	return isMasked(e.unit) && p.in.HasUnit(e.unit.Name) && p.in.UnitFileState(e.unit.Name) != "masked"
}

func unmasksHostUnit(p *planner, e subject) bool {
	u := e.unit
	return u.Mask != nil && !*u.Mask && !hasContents(u) && p.in.UnitFileState(u.Name) == "masked"
}

func runsPodman(_ *planner, e subject) bool {
	return strings.Contains(ptr.Deref(e.unit.Contents, ""), "/usr/bin/podman")
}

// isNotInstalled reports whether the payload only extends, enables or disables a unit that is not
// installed and that no other unit needs. Masks are excluded because they can be written anyway.
// Units of packages that are needed for other units are excluded because they will be installed.
func isNotInstalled(p *planner, e subject) bool {
	u := e.unit
	return !hasContents(u) && !isMasked(u) && !p.units.isAvailable(u.Name) && p.units.needed[u.Name] == "" &&
		!p.units.comesWithRequiredPackage(u.Name)
}
