// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/deployment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/adapt"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func TestDecideImage(t *testing.T) {
	digest := "sha256:" + strings.Repeat("1", 64)
	image := "quay.io/release/node@" + digest
	coreOS := hostinfo.Facts{OSTree: true, OS: hostinfo.OSRelease{Variant: "coreos"}}
	for name, test := range map[string]struct {
		host       hostinfo.Facts
		image      string
		status     *deployment.Status
		isRequired bool
		inRollback bool
		code       report.Code
	}{
		"another image": {
			host: coreOS, image: image, isRequired: true,
			status: &deployment.Status{Booted: deployment.Deployment{Digest: "sha256:2"}},
		},
		"the previous deployment is of the image": {
			host: coreOS, image: image, isRequired: true, inRollback: true,
			status: &deployment.Status{
				Booted: deployment.Deployment{Digest: "sha256:2"}, Rollback: &deployment.Deployment{Digest: digest},
			},
		},
		"installed from a disk image": {host: coreOS, image: image, status: &deployment.Status{}, isRequired: true},
		"the image runs": {
			host: coreOS, image: image, status: &deployment.Status{Booted: deployment.Deployment{Digest: digest}},
		},
		"without a digest": {
			host: coreOS, image: "quay.io/release/node:latest", status: &deployment.Status{}, code: report.Refused,
		},
		"the payload names no image":      {host: coreOS, status: &deployment.Status{}},
		"the deployments are unknown":     {host: coreOS, image: image},
		"the owner of the host builds it": {host: hostinfo.Facts{OSTree: true}, image: image, status: &deployment.Status{}},
	} {
		t.Run(name, func(t *testing.T) {
			update, err := decideImage(Facts{Host: test.host, Deployments: test.status}, ignition.MachineConfig{OSImageURL: test.image})
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
