package ignition

import (
	"path"
	"slices"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_6/types"
)

const (
	coreUser = "core" // the only account that MachineConfigs may name

	// appliedSwitch is the file that makes configure-ovs.sh keep an existing bridge, from
	// OpenShift 4.16 on.
	appliedSwitch    = "/etc/nmstate/openshift/applied"
	configureOVSPath = "/usr/local/bin/configure-ovs.sh"
)

// condition reports whether a rule applies to an entry.
type condition = func(s *scene, e subject) bool

func both(a, b condition) condition {
	return func(s *scene, e subject) bool { return a(s, e) && b(s, e) }
}

// packageMode reports whether the host is in package mode, not booted from an image.
func packageMode(s *scene, _ subject) bool { return !s.in.Facts.OSTree }

func standalone(s *scene, _ subject) bool { return !s.in.Hosted }

func hostedPackageMode(s *scene, e subject) bool { return s.in.Hosted && packageMode(s, e) }

func readableByOthers(_ *scene, e subject) bool { return e.mode&0o077 != 0 }

func noUser(name string) condition {
	return func(s *scene, _ subject) bool {
		if s.in.User == nil {
			return true
		}
		_, found := s.in.User(name)
		return !found
	}
}

// dropsIfcfg reports whether a NetworkManager configuration lists its plugins without the one
// for ifcfg files.
func dropsIfcfg(_ *scene, e subject) bool {
	for line := range strings.Lines(e.content) {
		if name, value, found := strings.Cut(line, "="); found && strings.TrimSpace(name) == "plugins" {
			return !strings.Contains(value, "ifcfg-rh")
		}
	}
	return false
}

// sets returns a condition: whether a file of key=value lines sets one of the keys.
func sets(keys ...string) condition {
	return func(_ *scene, e subject) bool {
		for line := range strings.Lines(e.content) {
			name, _, found := strings.Cut(line, "=")
			if found && slices.Contains(keys, strings.TrimRight(strings.TrimSpace(name), "+-")) {
				return true
			}
		}
		return false
	}
}

// holdsSecret reports whether a file or drop-in contains a secret. Three files always do,
// whatever their content looks like.
func holdsSecret(_ *scene, e subject) bool {
	known := []string{kubeconfigPath, "/etc/mcs-machine-config-content.json", "/var/lib/kubelet/config.json"}
	return slices.Contains(known, e.path) || HoldsSecret([]byte(e.content))
}

func selinux(s *scene, _ subject) bool {
	return s.in.Facts.SELinux == "enforcing" || s.in.Facts.SELinux == "permissive"
}

func noNmstateFiles(s *scene, _ subject) bool {
	for name := range s.payload.contents {
		if path.Dir(name) == "/etc/nmstate" && strings.HasSuffix(name, ".yml") {
			return false
		}
	}
	return true
}

// noAppliedSwitch reports whether configure-ovs.sh is missing from the payload, or always builds
// br-ex because it does not check appliedMarker.
func noAppliedSwitch(s *scene, _ subject) bool { return configureOVS(s).applied < 0 }

// keepsRemote reports whether configure-ovs.sh does not clear ovn-remote before it checks
// appliedMarker.
func keepsRemote(s *scene, _ subject) bool {
	script := configureOVS(s)
	return script.clears < 0 || script.clears > script.applied
}

func configureOVS(s *scene) ovsScript {
	content, _, _ := s.payload.File(configureOVSPath)
	return readOVSScript(string(content))
}

// ovsScript holds the line numbers of two actions of a configure-ovs.sh, -1 for a missing one.
type ovsScript struct {
	applied int // checks appliedMarker
	clears  int // clears ovn-remote
}

// readOVSScript searches the commands of a script and ignores its comments.
func readOVSScript(content string) ovsScript {
	found := ovsScript{applied: -1, clears: -1}
	n := 0
	for line := range strings.Lines(content) {
		line = strings.TrimSpace(line)
		n++
		switch {
		case strings.HasPrefix(line, "#"):
		case found.applied < 0 && strings.Contains(line, appliedSwitch):
			found.applied = n
		case found.clears < 0 && strings.Contains(line, "ovs-vsctl") && strings.Contains(line, "ovn-remote"):
			found.clears = n
		}
	}
	return found
}

func runsKubelet(s *scene, _ subject) bool {
	_, found := s.brought[KubeletUnit]
	return found
}

func stops(_ *scene, e subject) bool { return len(section(e.unit, "Service", "ExecStop")) > 0 }

func enabledAnd(is func(types.Unit) bool) condition {
	return func(_ *scene, e subject) bool { return enabled(e.unit) && is(e.unit) }
}

func notInstallable(u types.Unit) bool { return text(u.Contents) != "" && !installable(u) }

func noDefaultInstance(u types.Unit) bool {
	return text(u.Contents) != "" && len(section(u, "Install", "DefaultInstance")) == 0
}

// static reports whether the payload enables a unit of the host that cannot be enabled, such as
// ovsdb-server.service on RHEL.
func static(s *scene, e subject) bool {
	if !enabled(e.unit) || text(e.unit.Contents) != "" || s.in.UnitFile == nil {
		return false
	}
	state := s.in.UnitFile(e.unit.Name)
	return state == "static" || state == "generated"
}

// masksOfHost reports whether the payload masks a unit that the host has and does not mask.
func masksOfHost(s *scene, e subject) bool {
	if !masked(e.unit) || s.in.HasUnit == nil || s.in.UnitFile == nil {
		return false
	}
	return s.in.HasUnit(e.unit.Name) && s.in.UnitFile(e.unit.Name) != "masked"
}

func unmasks(s *scene, e subject) bool {
	u := e.unit
	return u.Mask != nil && !*u.Mask && text(u.Contents) == "" && s.in.UnitFile != nil && s.in.UnitFile(u.Name) == "masked"
}

func runsPodman(_ *scene, e subject) bool {
	return strings.Contains(text(e.unit.Contents), "/usr/bin/podman")
}

func hasDropins(_ *scene, e subject) bool { return len(e.unit.Dropins) > 0 }

// notInstalled reports whether the payload only extends, enables or disables a unit that is not
// installed and that no other unit needs. Masks are excluded because they can be written anyway.
// Units of packages that are needed for other units are excluded because they will be installed.
func notInstalled(s *scene, e subject) bool {
	u := e.unit
	return text(u.Contents) == "" && !masked(u) && !s.known(u.Name) && s.needed[u.Name] == "" && !s.willCome(u.Name)
}
