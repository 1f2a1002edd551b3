// SPDX-License-Identifier: Apache-2.0

//go:build rpm

package provision

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/rpms"
)

// dnf replaces the packages of a release by those of the next one, within a release by those of the OS
// image, and in a rollback by the older ones. Packages that are not of a release remain.
func TestUpgradeReplacesPackagesAndBack(t *testing.T) {
	b := rpms.New(t)
	key := b.GenerateKey("mirror")
	b.Build("site",
		"openshift-kubelet-4.18.7-1.el9", "openshift-kubelet-4.18.9-1.el9", "openshift-kubelet-4.19.2-1.el9",
		"openshift-kubelet-4.19.5-1.el9",
		"cri-o-1.31.4-1.el9", "cri-o-1.32.1-1.el9",
		"conmon-2-1.el9", "conmon-3-1.el9", "crun-1-1.el9", "container-selinux-2-1.el9",
		"openvswitch3.5-3.5.0-1.el9fdp", "NetworkManager-ovs-1.48.0-1.el9")
	b.Sign("site", "mirror")
	b.AddRepository("site", "enabled=1", "gpgkey=file://"+key)
	flowtest.NoError(
		t,
		software.Install(t.Context(), b.Root, report.Log{}, "openshift-kubelet-4.18.7", "cri-o-1.31.*", "conmon-2", "crun",
			"container-selinux", "openvswitch3.5", "NetworkManager-ovs"),
	)

	for _, step := range []struct {
		release string
		image   map[string]string // versions of the OS image; nil: unknown
		want    []string
	}{
		{"4.19", nil, []string{"cri-o-1.32.1", "openshift-kubelet-4.19.5"}},
		{"4.18", nil, []string{"cri-o-1.31.4", "openshift-kubelet-4.18.9"}},
		{
			"4.18",
			map[string]string{"openshift-kubelet": "4.18.7-1.el9", "cri-o": "1.31.9-1.el9"},
			[]string{"cri-o-1.31.4", "openshift-kubelet-4.18.7"},
		},
	} {
		p := packagesOnBench(t, b, plan.Run{
			Request: request.Request{Config: config.Join{OpenShiftRelease: step.release}}, Upgrading: true,
		})
		if step.image != nil {
			p.Software.Contents = &software.Contents{
				Release:  software.Release{Major: 4, Minor: 18},
				RHEL:     "9.4",
				Packages: step.image,
			}
		}
		decision, err := p.Software.Decision(t.Context(), nil, plan.Validation{})
		flowtest.NoError(t, err)
		flowtest.NoError(t, p.Install(t.Context(), report.Log{}, decision.Specs()))
		installed, err := b.Root.Installed(t.Context())
		flowtest.NoError(t, err)
		var got []string
		for _, one := range installed {
			if slices.Contains([]string{"openshift-kubelet", "cri-o"}, one.Name) {
				got = append(got, one.Name+"-"+one.Version)
			}
			if one.Name == "conmon" && one.Version != "2" {
				t.Errorf("conmon has version %s", one.Version)
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("after the upgrade to %s (-want +got):\n%s", step.release, diff)
		}
	}
}
