// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

var (
	ofRHEL    = regexp.MustCompile(`-for-rhel-(\d+)-|^rhel-(\d+)-for-`)
	ofRelease = regexp.MustCompile(`^rhocp-(\d+\.\d+)-for-`)
)

// checkRepositories adds findings for enabled repositories of another RHEL or another release.
// Only the IDs of RHEL's own repositories contain them. For a mirror, the packages are
// compared.
func (d *decision) checkRepositories() {
	for _, r := range d.facts.Repositories {
		if !r.Enabled {
			continue
		}
		if match := ofRHEL.FindStringSubmatch(r.ID); match != nil {
			major, _ := strconv.Atoi(match[1] + match[2]) // digits
			if major != d.rhel {
				d.addFinding(report.SeverityProblem, "repository-of-other-rhel", report.Remedy(d.disableCommand(r.ID)),
					"repository %s is for RHEL %d, but this host runs RHEL %d: its packages are incompatible", r.ID, major, d.rhel)
				continue
			}
		}
		match := ofRelease.FindStringSubmatch(r.ID)
		if match == nil || d.Release.IsZero() {
			continue
		}
		if other, err := ParseRelease(match[1]); err == nil && d.table.compare(other, d.Release) != 0 {
			d.addFinding(report.SeverityWarning, "repository-of-other-release", report.Remedy(d.disableCommand(r.ID)),
				"repository %s is for OpenShift %s, but the NodePool has %s: the next dnf update can install an incompatible kubelet or CRI-O", r.ID, other, d.Release)
		}
	}
}

func (d *decision) disableCommand(id string) string {
	if d.facts.Subscription == NoSubscription {
		return "dnf config-manager --set-disabled " + id
	}
	return "subscription-manager repos --disable=" + id
}

// isHidden reports whether a module stream hides a package of an enabled repository. Packages
// of inactive streams are hidden too, but do not count.
func (d *decision) isHidden(name string) bool {
	return slices.ContainsFunc(d.facts.Hidden, func(p dnf.Package) bool {
		return p.Name == name && d.facts.isInstallable(p) && !strings.Contains(p.Release, ".module") && !slices.Contains(d.facts.Available, p)
	})
}

// checkModules adds a finding for packages that a module stream hides. On RHEL 8 the default
// stream of container-tools hides CRI-O's conmon, runc and crun behind those of podman
// (OCPBUGS-34844).
func (d *decision) checkModules() {
	var names []string
	for _, m := range d.Missing {
		if d.isHidden(m.Name) {
			names = append(names, m.Name)
		}
	}
	if len(names) == 0 {
		return
	}
	d.addFinding(report.SeverityProblem, "module", "dnf -y module disable container-tools # list other enabled streams: dnf module list --enabled",
		"a module stream hides %s of an enabled repository (on RHEL 8: container-tools, which conflicts with the packages of CRI-O)", strings.Join(names, ", "))
}

// checkSkew adds findings for versions of kubelet and CRI-O that are incompatible with each
// other, with the release or with the control plane.
func (d *decision) checkSkew() {
	kubelet, control := d.facts.kubeletRelease(), d.facts.ControlPlane
	if d.replaces("kubelet") {
		kubelet = d.Release
	}
	kubeletMinor, controlMinor := d.table.kubernetesMinor(kubelet), d.table.kubernetesMinor(control)
	switch {
	case kubelet.IsZero():
	case !control.IsZero() && d.table.compare(kubelet, control) > 0:
		d.addFinding(report.SeverityProblem, "kubelet-newer", report.Remedy(d.replaceCommand("downgrade", d.desiredRelease())),
			"the installed kubelet (OpenShift %s) is newer than the control plane (%s), which Kubernetes does not support", kubelet, d.releaseNumbers(control))
	case kubeletMinor > 0 && controlMinor > 0 && kubeletMinor+maxKubeletSkew(kubeletMinor) < controlMinor:
		d.addFinding(report.SeverityProblem, "kubelet-older", report.Remedy(d.replaceCommand("install", d.desiredRelease())),
			"the installed kubelet (OpenShift %s, Kubernetes 1.%d) is %d minor versions older than the control plane (%s); at most %d are supported", kubelet, kubeletMinor, controlMinor-kubeletMinor, d.releaseNumbers(control), maxKubeletSkew(kubeletMinor))
	case d.table.compare(kubelet, d.Release) > 0:
		d.addFinding(report.SeverityProblem, "kubelet-of-other-release", report.Remedy(d.replaceCommand("downgrade", d.Release)),
			"the installed kubelet (OpenShift %s) does not match the NodePool (%s): it may not support the settings of the payload", kubelet, d.Release)
	case d.table.compare(kubelet, d.Release) < 0:
		d.addFinding(report.SeverityProblem, "kubelet-of-other-release", report.Remedy(d.replaceCommand("install", d.Release)),
			"the installed kubelet (OpenShift %s) does not match the NodePool (%s): it may not support the settings of the payload", kubelet, d.Release)
	}
	d.checkRuntimeSkew(kubelet)
}

// maxKubeletSkew returns the number of minor versions by which kubelet may be older than the API
// server (https://kubernetes.io/releases/version-skew-policy/#kubelet).
func maxKubeletSkew(kubelet int) int {
	if kubelet < 25 {
		return 2
	}
	return 3
}

// checkRuntimeSkew compares the minor versions of CRI-O and kubelet, which must be equal. If
// kubelet is not installed, it compares with the release.
func (d *decision) checkRuntimeSkew(kubelet Release) {
	want, whose := d.table.kubernetesMinor(kubelet), "the installed kubelet"
	if want == 0 {
		want, whose = d.minor, "OpenShift "+d.Release.String()
	}
	have := d.facts.crioMinor()
	if have == 0 || want == 0 || have == want || d.replaces("crio") {
		return
	}
	age, verb := "older", "install"
	if have > want {
		age, verb = "newer", "downgrade"
	}
	d.addFinding(report.SeverityProblem, "crio-skew", report.Remedyf("dnf %s 'cri-o-1.%d.*'", verb, want),
		"the installed CRI-O 1.%d is %s than %s (Kubernetes 1.%d); the minor versions must match", have, age, whose, want)
}

// desiredRelease returns the release whose kubelet should be installed.
func (d *decision) desiredRelease() Release {
	if !d.facts.Release.IsZero() {
		return d.facts.Release
	}
	return d.facts.ControlPlane
}

// replaceCommand returns the command that installs another version of kubelet.
func (d *decision) replaceCommand(verb string, to Release) string {
	needs := d.table.needs(d.rhel, to, nil)
	at := slices.IndexFunc(needs, func(p Package) bool { return p.Program == "kubelet" })
	if at < 0 {
		return ""
	}
	return fmt.Sprintf("dnf %s '%s-%s.*'", verb, needs[at].Name, to)
}
