// SPDX-License-Identifier: Apache-2.0

package release

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kubelet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/packages"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func parse(t *testing.T, version string) kubelet.Version {
	t.Helper()
	if version == "" {
		return kubelet.Version{}
	}
	parsed, err := kubelet.ParseVersion(version)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func TestFindings(t *testing.T) {
	table, err := packages.ReadTable()
	if err != nil {
		t.Fatal(err)
	}
	release := func(minor int) *packages.Software {
		return &packages.Software{Release: packages.Release{Major: 4, Minor: minor}}
	}
	unknownToTable := &packages.Software{Release: packages.Release{Major: 5, Minor: 9}, Packages: map[string]string{"cri-o": "1.45.1-1.el10"}}
	for name, test := range map[string]struct {
		software              *packages.Software
		kubelet, crio, server string
		requested             packages.Release
		want                  map[string]report.Remedy
	}{
		"nothing is known":      {},
		"all match":             {software: release(19), kubelet: "v1.32.5", crio: "1.32.4", server: "v1.33.1", requested: packages.Release{Major: 4, Minor: 19}},
		"nothing is installed":  {software: release(19), server: "v1.32.1"},
		"unknown release":       {software: &packages.Software{Release: packages.Release{Major: 5, Minor: 9}}, kubelet: "v1.32.5"},
		"release of the image":  {software: unknownToTable, kubelet: "v1.45.0", crio: "1.45.1"},
		"image without release": {kubelet: "v1.32.5", crio: "1.31.4"},
		"older": {software: release(19), kubelet: "v1.31.9", crio: "1.31.4", want: map[string]report.Remedy{
			"kubelet 1.31.9 is installed, but the payload is of OpenShift 4.19 and requires kubelet 1.32": "dnf install 'openshift-kubelet-4.19.*'",
			"CRI-O 1.31.4 is installed, but the payload is of OpenShift 4.19 and requires CRI-O 1.32":     "dnf install 'cri-o-1.32.*'",
		}},
		"newer": {software: release(18), kubelet: "v1.32.5", crio: "1.32.4", want: map[string]report.Remedy{
			"kubelet 1.32.5 is installed, but the payload is of OpenShift 4.18 and requires kubelet 1.31": "dnf downgrade 'openshift-kubelet-4.18.*'",
			"CRI-O 1.32.4 is installed, but the payload is of OpenShift 4.18 and requires CRI-O 1.31":     "dnf downgrade 'cri-o-1.31.*'",
		}},
		"API server older than kubelet": {kubelet: "v1.33.0", server: "v1.32.9", want: map[string]report.Remedy{
			"kubelet 1.33.0 is newer than the API server 1.32.9, which Kubernetes does not support": "# install the kubelet of the NodePool's release",
		}},
		"another release was requested": {software: release(19), requested: packages.Release{Major: 4, Minor: 18}, want: map[string]report.Remedy{
			"OpenShift 4.18 was requested, but the payload is of OpenShift 4.19": "# remove --openshift-release and openshiftRelease: the OS image of the payload determines the release",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			facts := Facts{
				Software:  test.software,
				Requested: test.requested,
				Kubelet:   parse(t, test.kubelet),
				CRIO:      parse(t, test.crio),
				Server:    parse(t, test.server),
			}
			got := map[string]report.Remedy{}
			for _, finding := range facts.Findings(table) {
				got[finding.Message] = finding.Remedy
				if !finding.RefusesJoin || finding.Code != report.Refused {
					t.Errorf("%q does not refuse a join", finding.Message)
				}
			}
			if test.want == nil {
				test.want = map[string]report.Remedy{}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSaveAndLoad(t *testing.T) {
	dir := t.TempDir()
	if got, err := Load(dir); got != nil || err != nil {
		t.Errorf("Load() = %v, %v without a file", got, err)
	}
	want := packages.Software{Image: "registry.example.com/os@sha256:0", Release: packages.Release{Major: 4, Minor: 19}, RHEL: "9.6", Packages: map[string]string{"cri-o": "1.32.4-1.el9"}}
	if err := Save(dir, want); err != nil {
		t.Fatal(err)
	}
	got, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, *got); diff != "" {
		t.Error(diff)
	}
}

func TestReplacedSoftwareMatches(t *testing.T) {
	table, err := packages.ReadTable()
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		replaced []string
		server   string
		want     int // findings
	}{
		"both":                 {replaced: []string{"cri-o", "openshift-kubelet", "jq"}, server: "v1.32.1"},
		"only CRI-O":           {replaced: []string{"cri-o"}, want: 1},
		"none":                 {want: 2},
		"API server too old":   {replaced: []string{"cri-o", "openshift-kubelet"}, server: "v1.31.1", want: 1},
		"API server is newest": {replaced: []string{"cri-o", "openshift-kubelet"}, server: "v1.35.1"},
	} {
		facts := Facts{
			Software: &packages.Software{Release: packages.Release{Major: 4, Minor: 19}},
			Kubelet:  parse(t, "v1.31.9"), CRIO: parse(t, "1.31.4"), Server: parse(t, test.server),
		}
		facts.Replace(table, test.replaced)
		if findings := facts.Findings(table); len(findings) != test.want {
			t.Errorf("%s: %v", name, findings)
		}
	}
}
