// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/deployment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/hostclass"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func TestImageMode(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*HostFacts)
		want   string // the finding: SEVERITY: PART OF THE MESSAGE; "" for none
	}{
		"its own image": {func(*HostFacts) {}, ""},
		"unknown deployments": {
			func(f *HostFacts) { f.Deployments, f.DeploymentsError = nil, deployment.ErrFormat },
			"problem: are unknown: the format is unknown",
		},
		"without root": {func(f *HostFacts) { f.Deployments = nil }, ""},
		"update not completed": {
			func(f *HostFacts) { f.Units[bootCompleteUnit] = systemd.UnitState{Active: "failed"} },
			"problem: the last update of the image was not completed",
		},
		"temporary /etc": {func(f *HostFacts) { f.Deployments.TransientEtc = true }, "problem: makes /etc temporary"},
		"unlocked /usr":  {func(f *HostFacts) { f.Deployments.Unlocked = true }, "problem: /usr is unlocked"},
		"another deployment boots next": {
			func(f *HostFacts) {
				f.Deployments.Staged = &deployment.Deployment{Digest: "sha256:22", Version: "9.6.2"}
			},
			"warning: another deployment boots next: 9.6.2, sha256:22",
		},
		"layered packages": {
			func(f *HostFacts) {
				f.Deployments.Booted.Modified, f.Deployments.Booted.Packages = true, []string{"jq"}
			},
			"warning: layered onto the image (jq)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			facts := goodHost()
			facts.Host.OSTree = true
			facts.Deployments = &deployment.Status{Booted: deployment.Deployment{Digest: "sha256:11"}}
			test.change(&facts)
			result := Run(HostChecks(), facts).ForClass(facts.Host.Class())
			got := ""
			for _, finding := range result.Findings {
				got += string(finding.Severity) + ": " + finding.Message
			}
			severity, part, _ := strings.Cut(test.want, ": ")
			if (got == "") != (test.want == "") || !strings.HasPrefix(got, severity) || !strings.Contains(got, part) {
				t.Errorf("findings %q, want %q", got, test.want)
			}
			if refused := report.CodeOf(result.Err()) == report.Refused; refused != (severity == "problem") {
				t.Errorf("refused: %t", refused)
			}
		})
	}
}

// A remedy names the tools of the host: in image mode, neither dnf nor grubby changes it.
func TestRemediesInImageMode(t *testing.T) {
	facts := PayloadFacts{
		KernelArguments: []string{"systemd.unified_cgroup_hierarchy=1"}, MissingPrograms: []Program{{"crio", "cri-o"}},
		ReadOnlyDirectories: []string{"/usr/local/bin"},
	}
	for class, want := range map[hostclass.Class][]string{
		hostclass.PackageMode: {"grubby --update-kernel=ALL", "dnf install cri-o", "# replace them in the image"},
		hostclass.Bootc:       {"rpm-ostree kargs", "# add to the image of this host", "# replace them in the image"},
	} {
		facts.Host.OSTree = class == hostclass.Bootc
		result := Run(PayloadChecks(), facts).ForClass(class)
		for i, finding := range result.Findings {
			if len(result.Findings) != len(want) || !strings.HasPrefix(string(finding.Remedy), want[i]) {
				t.Errorf("%s: %s: remedy %q, want %q", class, finding.Message, finding.Remedy, want)
			}
		}
		if len(result.Findings) == 0 {
			t.Errorf("%s: no findings", class)
		}
	}
}
