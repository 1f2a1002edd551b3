// SPDX-License-Identifier: Apache-2.0

package software

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Versions are the Kubernetes versions that must match the release and each other. A zero value is
// unknown, or not installed.
type Versions struct{ Server, Kubelet, CRIO kube.Version }

// InstalledVersions returns the versions of kubelet and CRI-O on this host.
func InstalledVersions(ctx context.Context) Versions {
	return Versions{Kubelet: printedVersion(ctx, "kubelet"), CRIO: printedVersion(ctx, "crio")}
}

// printedVersion returns the version at the end of the first line that PROGRAM --version prints. The program is run
// again only if its file has changed.
func printedVersion(ctx context.Context, program string) kube.Version {
	file := command.Find(program)
	info, err := os.Stat(file)
	if err != nil {
		return kube.Version{} // the checks for missing binaries report this
	}
	if known, there := knownVersions.Load(file); there && known.(knownVersion).isOf(info) {
		return known.(knownVersion).version
	}
	output, err := command.Run(ctx, file, "--version")
	if err != nil {
		return kube.Version{}
	}
	line, _, _ := strings.Cut(output, "\n")
	version, _ := kube.ParseVersion(line) // unknown if it has no version
	knownVersions.Store(file, knownVersion{info, version})
	return version
}

// knownVersions has the knownVersion of each program that was run, by path.
var knownVersions sync.Map

// knownVersion is the version of a program with the file that printed it.
type knownVersion struct {
	file    os.FileInfo
	version kube.Version
}

// isOf reports whether the version is that of the file, which has not changed.
func (k knownVersion) isOf(file os.FileInfo) bool {
	return os.SameFile(k.file, file) && k.file.ModTime().Equal(file.ModTime()) && k.file.Size() == file.Size()
}

// Findings returns a problem for each version that does not match the contents of the OS image, which are
// nil if they are unknown, or the API server.
func (v Versions) Findings(contents *Contents) ([]report.Finding, error) {
	table, err := ReadTable()
	if err != nil || contents == nil {
		return v.mismatches(table, "", Release{}, 0), err
	}
	minor := contents.KubernetesMinor(table, contents.Release)
	return v.mismatches(table, payloadRelease, contents.Release, minor), nil
}

// What determines the release of a node.
const (
	payloadRelease = "the payload"
	kubeletRelease = "the installed kubelet"
)

// mismatches returns at most one problem for each of the release, kubelet and CRI-O. minor is that of the
// Kubernetes version of the release, 0 if it is unknown. A kubelet of the release is not compared with the
// API server, because the release is.
func (v Versions) mismatches(table Table, source string, release Release, minor int) []report.Finding {
	var findings []report.Finding
	addProblem := func(err error) {
		if err != nil {
			findings = append(findings, report.RefusingFinding(err))
		}
	}
	if minor == 0 {
		addProblem(kube.CheckSkew(v.Server, v.Kubelet))
		return findings
	}
	if err := kube.CheckSkew(v.Server, kube.MinorVersion(minor)); err != nil {
		addProblem(report.Fail(report.Refused,
			"oc get nodepool -A # prints the version of the NodePool: change it to one that the control plane supports",
			"%s is of OpenShift %s: %w", source, release, err))
	}
	check := func(program string, installed kube.Version, spec string) {
		have := installed.Minor()
		if have == 0 || have == minor {
			return
		}
		verb := "install"
		if have > minor {
			verb = "downgrade"
		}
		addProblem(report.Fail(report.Refused, report.Remedyf("dnf %s '%s.*'", verb, spec),
			"%s %s is installed, but %s is of OpenShift %s and requires %s 1.%d",
			program, installed, source, release, program, minor))
	}
	check("kubelet", v.Kubelet, fmt.Sprintf("%s-%s", table.kubeletPackage(release), release))
	check("CRI-O", v.CRIO, fmt.Sprintf("cri-o-1.%d", minor))
	return findings
}

// checkVersions compares the versions of kubelet and CRI-O with the release and the API server: those that
// are installed, or those that the packages of the decision will install.
func (d *decision) checkVersions() {
	versions, source := d.facts.Versions, payloadRelease
	if d.facts.release().IsZero() {
		source = kubeletRelease
	}
	if d.changes("kubelet") {
		versions.Kubelet = kube.MinorVersion(d.minor)
	}
	if d.changes("crio") {
		versions.CRIO = kube.MinorVersion(d.minor)
	}
	d.KubeletMinor = versions.Kubelet.Minor()
	d.Mismatches = versions.mismatches(d.table, source, d.Release, d.minor)
	if contents, requested := d.facts.Contents, d.facts.Requested; contents != nil && !requested.IsZero() &&
		requested != contents.Release {
		d.Mismatches = append(d.Mismatches, report.RefusingFinding(report.Fail(report.Refused,
			"# remove --openshift-release and openshiftRelease: the OS image of the payload determines the release",
			"OpenShift %s was requested, but the payload is of OpenShift %s", requested, contents.Release)))
	}
}

// changes reports whether a package that provides the program is installed, replaced or unpacked, or must
// be replaced.
func (d *decision) changes(program string) bool {
	return slices.ContainsFunc(d.Packages, func(c Choice) bool {
		return c.Program == program && (c.Replaces != nil || c.Outcome == ToInstall || c.Outcome == ToUnpack)
	}) || slices.ContainsFunc(d.Unpack, func(name string) bool {
		return slices.ContainsFunc(d.table.Packages, func(p Package) bool { return p.Program == program && p.matches(name) })
	})
}
