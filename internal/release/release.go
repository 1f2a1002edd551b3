// SPDX-License-Identifier: Apache-2.0

// Package release compares the release of the payload with the kubelet and CRI-O of this host and
// with the API server.
package release

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kubelet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/packages"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Facts are the versions that must match each other. A zero value is unknown, or not installed.
type Facts struct {
	Software  *packages.Software // of the payload
	Requested packages.Release   // --openshift-release
	Kubelet   kubelet.Version
	CRIO      kubelet.Version
	Server    kubelet.Version
}

// Gather returns the versions of kubelet and CRI-O on this host.
func Gather(ctx context.Context) Facts {
	return Facts{Kubelet: installed(ctx, "kubelet"), CRIO: installed(ctx, "crio")}
}

// Replace sets the versions of kubelet and CRI-O to those of the payload if packages, which will be
// installed, contain them.
func (f *Facts) Replace(table packages.Table, packages []string) {
	var next kubelet.Version // unknown if the release of the payload is
	if f.Software != nil && f.Software.KubernetesMinor(table) > 0 {
		next, _ = kubelet.ParseVersion(fmt.Sprintf("1.%d.0", f.Software.KubernetesMinor(table)))
	}
	for _, name := range packages {
		switch name {
		case "openshift-kubelet", "openshift-hyperkube":
			f.Kubelet = next
		case "cri-o":
			f.CRIO = next
		}
	}
}

// installed returns the version that the first line of the output of PROGRAM --version ends with.
func installed(ctx context.Context, program string) kubelet.Version {
	output, err := command.Run(ctx, program, "--version")
	if err != nil {
		return kubelet.Version{} // the checks for missing binaries report this
	}
	line, _, _ := strings.Cut(output, "\n")
	version, _ := kubelet.ParseVersion(line) // unknown if it has no version
	return version
}

// Findings returns a problem for each version that does not match.
func (f Facts) Findings(table packages.Table) []report.Finding {
	var findings []report.Finding
	problem := func(err error) {
		if err != nil {
			findings = append(findings, report.RefusingFinding(err))
		}
	}
	problem(kubelet.CheckSkew(f.Server, f.Kubelet))
	if f.Software == nil {
		return findings
	}
	release := f.Software.Release
	if f.Requested != (packages.Release{}) && f.Requested != release {
		problem(report.Fail(report.Refused, "# remove --openshift-release and openshiftRelease: the OS image of the payload determines the release",
			"OpenShift %s was requested, but the payload is of OpenShift %s", f.Requested, release))
	}
	want := f.Software.KubernetesMinor(table)
	problem(checkMinor("kubelet", f.Kubelet, release, want, fmt.Sprintf("dnf install 'openshift-kubelet-%s.*'", release)))
	problem(checkMinor("CRI-O", f.CRIO, release, want, fmt.Sprintf("dnf install 'cri-o-1.%d.*'", want)))
	return findings
}

// checkMinor fails if the minor version of an installed program is not that of the release. It does
// not fail if one of them is unknown.
func checkMinor(program string, installed kubelet.Version, release packages.Release, want int, install string) error {
	have := installed.Minor()
	if have == 0 || want == 0 || have == want {
		return nil
	}
	if have > want {
		install = strings.Replace(install, "install", "downgrade", 1)
	}
	return report.Fail(report.Refused, report.Remedy(install), "%s %s is installed, but the payload is of OpenShift %s and requires %s 1.%d",
		program, installed, release, program, want)
}

// Save stores the software of the payload for later runs.
func Save(dir string, software packages.Software) error {
	content, err := Encode(software)
	if err != nil {
		return err
	}
	return joinstate.SaveFile(dir, joinstate.SoftwareFile, content)
}

// Encode returns the content of joinstate.SoftwareFile.
func Encode(software packages.Software) ([]byte, error) {
	content, err := json.Marshal(software)
	if err != nil {
		return nil, fmt.Errorf("encoding the software of the payload: %w", err)
	}
	return content, nil
}

// Load returns the stored software of the payload, or nil if there is none.
func Load(dir string) (*packages.Software, error) {
	content, err := joinstate.LoadFile(dir, joinstate.SoftwareFile)
	if err != nil {
		return nil, err
	}
	return Decode(content)
}

// Decode returns the software in the content of joinstate.SoftwareFile, or nil if there is none.
func Decode(content []byte) (*packages.Software, error) {
	if content == nil {
		return nil, nil
	}
	var software packages.Software
	if err := json.Unmarshal(content, &software); err != nil {
		return nil, fmt.Errorf("reading %s: %w", joinstate.SoftwareFile, err)
	}
	return &software, nil
}
