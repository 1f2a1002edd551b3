// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/deployment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/adapt"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
)

func TestDecideImage(t *testing.T) {
	digest := "sha256:" + strings.Repeat("1", 64)
	image := "quay.io/release/node@" + digest
	other, this := deployment.Deployment{Digest: "sha256:2"}, deployment.Deployment{Digest: digest}
	for name, test := range map[string]struct {
		image                  string
		status                 *deployment.Status
		isRequired, inRollback bool
		code                   report.Code
	}{
		"another image": {image: image, status: &deployment.Status{Booted: other}, isRequired: true},
		"the previous deployment is of the image": {
			image: image, status: &deployment.Status{Booted: other, Rollback: &this}, isRequired: true, inRollback: true,
		},
		"installed from a disk image": {image: image, status: &deployment.Status{}, isRequired: true},
		"the image runs":              {image: image, status: &deployment.Status{Booted: this}},
		"without a digest": {
			image: "quay.io/release/node:latest", status: &deployment.Status{}, code: report.Refused,
		},
		"the payload names no image":  {status: &deployment.Status{}},
		"the deployments are unknown": {image: image},
	} {
		t.Run(name, func(t *testing.T) {
			update, err := decideImage(test.status, test.image)
			if report.CodeOf(err) != test.code || (update != nil) != test.isRequired {
				t.Fatalf("update %+v, error %v", update, err)
			}
			if update != nil && (update.Image != image || update.Digest != digest || update.InRollback != test.inRollback ||
				update.Booted.Digest != test.status.Booted.Digest) {
				t.Errorf("update %+v", *update)
			}
		})
	}
}

func TestRunsPayloadImage(t *testing.T) {
	bootc, coreOS := hostinfo.Facts{OSTree: true}, hostinfo.Facts{OSTree: true, OS: hostinfo.OSRelease{Variant: "coreos"}}
	for name, test := range map[string]struct {
		host   hostinfo.Facts
		config config.Join
		want   bool
	}{
		"RHEL CoreOS":                 {host: coreOS, want: true},
		"RHEL bootc":                  {host: bootc},
		"RHEL bootc on request":       {host: bootc, config: config.Join{SwitchImage: true}, want: true},
		"package mode, with the flag": {config: config.Join{SwitchImage: true}},
	} {
		if got := runsPayloadImage(test.host, test.config); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestPullFiles(t *testing.T) {
	file := func(target string) ledger.Change { return ledger.Change{Kind: ledger.File, Target: target} }
	p := &Plan{Plan: &adapt.Plan{Files: []ledger.Change{
		file("/etc/containers/registries.conf"), file("/etc/kubernetes/kubelet.conf"), file("/var/lib/kubelet/config.json"),
		file("/etc/systemd/system/rpm-ostreed.service.d/10-mco-default-env.conf"), file("/etc/mco/proxy.env"),
		file("/etc/systemd/system/kubelet.service"),
	}}}
	var got []string
	for _, change := range p.PullFiles() {
		got = append(got, change.Target)
	}
	if diff := cmp.Diff([]string{
		"/etc/containers/registries.conf", "/var/lib/kubelet/config.json",
		"/etc/systemd/system/rpm-ostreed.service.d/10-mco-default-env.conf", "/etc/mco/proxy.env",
	}, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestImageOfAnotherRHELIsAnnounced(t *testing.T) {
	of := func(rhel string) *software.Contents { return &software.Contents{RHEL: rhel} }
	coreOS := hostinfo.OSRelease{ID: "rhel", Variant: "coreos", Version: "9.8"}
	for name, test := range map[string]struct {
		host hostinfo.OSRelease
		next *software.Contents
		want string
	}{
		"the same":                   {coreOS, of("9.10"), ""},
		"RHEL 10":                    {coreOS, of("10.2"), "from RHEL 9 to RHEL 10"},
		"unknown contents":           {coreOS, nil, ""},
		"unknown RHEL":               {coreOS, of(""), ""},
		"RHEL CoreOS of OpenShift 4": {hostinfo.OSRelease{ID: "rhcos", Like: []string{"rhel"}, Version: "4.18"}, of("9.6"), ""},
	} {
		s := NewSoftware(&Session{Host: machine.Reader{Facts: hostinfo.Facts{OS: test.host}}}, nil)
		s.Contents = test.next
		found := s.checkStream()
		if len(found) == 0 {
			if test.want != "" {
				t.Errorf("%s: no finding", name)
			}
			continue
		}
		if test.want == "" || !strings.Contains(found[0].Message, test.want) || found[0].RefusesJoin ||
			!strings.Contains(string(found[0].Remedy), "spec.osImageStream.name: rhel-9") {
			t.Errorf("%s: %+v", name, found)
		}
	}
}
