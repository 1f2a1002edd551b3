// SPDX-License-Identifier: Apache-2.0

package software

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
)

// The OS image of OpenShift 4.18 has no list of packages in reality; its versions do not matter here.
func TestDecideFromImage(t *testing.T) {
	contents := &Contents{Release: Release{4, 18}, RHEL: "9.6", Packages: map[string]string{
		"openshift-kubelet": "4.18.0-1", "cri-o": "1.31.4-1", "cri-tools": "1.31.1-1", "openvswitch3.5": "3.5.0-1",
		"conmon": "2.1-1",
	}}
	ofRHEL10 := *contents
	ofRHEL10.RHEL = "10.2"
	withoutList := *contents
	withoutList.Packages = nil
	missing := []string{"openshift-kubelet", "cri-o", "openvswitch3.5", "conmon"}
	inRepositories := []dnf.Package{
		newPackage("openshift-kubelet", "4.18.0", "el9", rhocp9), newPackage("cri-o", "1.31.4", "el9", rhocp9),
		newPackage("openvswitch3.5", "3.5.0", "el9", fdp9), newPackage("conmon", "2.1", "el9", "appstream"),
	}
	for name, test := range map[string]struct {
		source    string
		contents  *Contents
		available []dnf.Package
		image     []string
		specs     []string
		finding   string
	}{
		"rpm": {config.SoftwareRPM, contents, nil, nil, nil, ""},
		"auto, no repository": {
			config.SoftwareAuto, contents, nil, []string{"openshift-kubelet", "cri-o", "openvswitch3.5"}, nil, "",
		},
		"auto, some repositories": {
			config.SoftwareAuto, contents, inRepositories[1:],
			[]string{"openshift-kubelet"},
			[]string{"cri-o-1.31.*", "conmon", "openvswitch3.5"},
			"",
		},
		"auto, all repositories": {
			config.SoftwareAuto, contents, inRepositories, nil,
			[]string{"openshift-kubelet-4.18.*", "cri-o-1.31.*", "conmon", "openvswitch3.5"},
			"",
		},
		"image, all repositories": {
			config.SoftwareImage, contents, inRepositories,
			[]string{"openshift-kubelet", "cri-o"},
			[]string{"conmon", "openvswitch3.5"},
			"",
		},
		"image, no repository": {
			config.SoftwareImage, contents, nil, []string{"openshift-kubelet", "cri-o", "openvswitch3.5"}, nil, "",
		},
		"auto, an image of RHEL 10": {
			config.SoftwareAuto, &ofRHEL10, nil, nil, nil, "it contains RHEL 10, but this host runs RHEL 9",
		},
		"rpm, an image of RHEL 10": {config.SoftwareRPM, &ofRHEL10, nil, nil, nil, ""},
		"optional package":         {config.SoftwareImage, contents, nil, nil, nil, ""},
		"image without a list": {
			config.SoftwareImage, &withoutList, nil, nil, nil, "the OS image of OpenShift 4.18 has no separate layer",
		},
		"auto, an unknown image": {config.SoftwareAuto, nil, nil, nil, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			facts := goodFacts()
			facts.Installed, facts.Available, facts.Install = without(facts.Installed, missing...), test.available, true
			if strings.HasPrefix(name, "optional") {
				facts.Installed = without(goodFacts().Installed, "cri-tools")
			}
			facts.Source, facts.Contents = test.source, test.contents
			decision := Decide(facts)
			if diff := cmp.Diff(test.image, decision.Unpack); diff != "" {
				t.Errorf("from the image (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.specs, decision.Specs()); diff != "" {
				t.Errorf("from repositories (-want +got):\n%s", diff)
			}
			explained := false
			for _, finding := range decision.Findings {
				if strings.Contains(finding.Message, "the OS image") {
					explained = true
					if test.finding == "" || !strings.Contains(finding.Message, test.finding) || !finding.RefusesJoin ||
						(strings.Contains(test.finding, "RHEL 10") &&
							!strings.Contains(string(finding.Remedy), "spec.osImageStream.name: rhel-9")) {
						t.Errorf("finding: %+v", finding)
					}
				}
				for _, unpacked := range test.image {
					if strings.Contains(finding.Message, unpacked) {
						t.Errorf("%s, which is unpacked, is reported: %s", unpacked, finding.Message)
					}
				}
			}
			if explained != (test.finding != "") {
				t.Errorf("no finding: %q", test.finding)
			}
		})
	}
}
