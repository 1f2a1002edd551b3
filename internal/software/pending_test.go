// SPDX-License-Identifier: Apache-2.0

package software

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/deployment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// pending returns the message about an update that is not running.
func pending(component, installed, running string) string {
	return "an update of " + component + " is installed (" + installed + "), but " + running + " is running"
}

func TestPendingUpdates(t *testing.T) {
	current := running{
		Installed: []dnf.Package{
			{Name: "openvswitch-selinux-extra-policy", Version: "1.0", Release: "36.el9fdp", Arch: "noarch"},
			{Name: "kernel-core", Version: "5.14.0", Release: "570.el9", Arch: "x86_64"},
			{Name: "kernel-core", Version: "5.14.0", Release: "503.el9", Arch: "x86_64"},
			{Name: "openvswitch3.5", Version: "3.5.0", Release: "38.el9fdp", Arch: "x86_64"},
			{Name: "NetworkManager", Version: "1.52.0", Release: "3.el9", Arch: "x86_64"},
			{Name: "systemd", Version: "252", Release: "51.el9", Arch: "x86_64"},
		},
		Kernel: "5.14.0-570.el9.x86_64", OpenVSwitch: "3.5.0-38.el9fdp", NetworkManager: "1.52.0", Systemd: "252-51.el9",
	}
	for name, test := range map[string]struct {
		change func(*running)
		want   map[string]report.Remedy
	}{
		"current":         {func(*running) {}, nil},
		"variant":         {func(f *running) { f.Kernel += "+rt"; f.Installed[1].Name = "kernel-rt-core" }, nil},
		"unknown":         {func(f *running) { *f = running{Installed: f.Installed} }, nil},
		"no packages":     {func(f *running) { f.Installed = nil }, nil},
		"without release": {func(f *running) { f.OpenVSwitch = "3.5.0" }, nil},
		"kernel": {func(f *running) { f.Kernel = "5.14.0-503.el9.x86_64" }, map[string]report.Remedy{
			pending("the kernel", "kernel-core-5.14.0-570.el9.x86_64", "5.14.0-503.el9.x86_64"): reboot,
		}},
		"Open vSwitch": {func(f *running) { f.OpenVSwitch = "3.5.0-20.el9fdp" }, map[string]report.Remedy{
			pending("Open vSwitch", "openvswitch3.5-3.5.0-38.el9fdp.x86_64", "3.5.0-20.el9fdp"): reboot,
		}},
		"services": {func(f *running) { f.NetworkManager, f.Systemd = "1.48.10", "252-46.el9" }, map[string]report.Remedy{
			pending("NetworkManager", "NetworkManager-1.52.0-3.el9.x86_64", "1.48.10"): "systemctl restart NetworkManager",
			pending("systemd", "systemd-252-51.el9.x86_64", "252-46.el9"):              "systemctl daemon-reexec",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			facts := current
			facts.Installed = append([]dnf.Package(nil), current.Installed...)
			test.change(&facts)
			var got map[string]report.Remedy
			for _, finding := range facts.findings() {
				if got == nil {
					got = map[string]report.Remedy{}
				}
				got[finding.Message] = finding.Remedy
				if finding.Reason != report.UpdateNotRunning || finding.Subject == "" || finding.Severity != report.SeverityNote {
					t.Errorf("%+v", finding)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestPendingImage(t *testing.T) {
	booted, next := deployment.Deployment{Version: "9.6.1", Digest: "sha256:1111"},
		&deployment.Deployment{Version: "9.6.2", Digest: "sha256:2222"}
	for name, test := range map[string]struct {
		deployments *deployment.Status
		want        string
	}{
		"unknown":        {nil, ""},
		"nothing staged": {&deployment.Status{Booted: booted, Rollback: next}, ""},
		"staged": {
			&deployment.Status{Booted: booted, Staged: next},
			"another deployment boots next (9.6.2, sha256:2222), but 9.6.1, sha256:1111 is running",
		},
		"rollback": {
			&deployment.Status{Booted: booted, Rollback: next, RollbackQueued: true},
			"another deployment boots next (9.6.2, sha256:2222), but 9.6.1, sha256:1111 is running",
		},
	} {
		got := ""
		for _, finding := range pendingImage(test.deployments) {
			got += finding.Message
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
