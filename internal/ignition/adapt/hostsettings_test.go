// SPDX-License-Identifier: Apache-2.0

package adapt

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/test/ignitiontest"
)

// A join that applies the settings of the host plans them as changes, in place of notes for the
// administrator.
func TestHostSettingsArePlanned(t *testing.T) {
	machine := `{"metadata":{"name":"r"},"spec":{"kernelArguments":["systemd.unified_cgroup_hierarchy=1","psi=0"]}}`
	inline := func(path, content string) string {
		return `{"path":"` + path + `","contents":` + ignitiontest.InlineContent(content) + `}`
	}
	worker := `{"ignition":{"version":"3.4.0"},"storage":{"files":[` + inline(ignition.MachineConfigPath, machine) + `,` +
		inline("/etc/chrony.conf", "server a") + `,` + inline("/etc/audit/rules.d/a.rules", "-D") + `,` +
		inline("/etc/systemd/system.conf.d/a.conf", "[Manager]") + `,` +
		inline("/etc/systemd/system.conf.d/b.conf", "[Manager]") +
		`]},"systemd":{"units":[{"name":"kubelet.service","contents":"[Service]\nExecStart=/usr/bin/kubelet\n"},{"name":"chronyd.service","enabled":true}]}}`
	const (
		argument = "boot loader: psi=0"
		booleans = "SELinux policy: container_manage_cgroup=on virt_use_samba=on container_use_cephfs=on"
		ports    = "firewalld zone public: 9000-9999/tcp 9000-9999/udp 10250-10259/tcp 6081/udp 30000-32767/tcp " +
			"30000-32767/udp"
	)
	for name, test := range map[string]struct {
		config  string
		edit    func(*Input)
		changes []string
		loaded  []string
		reboot  bool
		rules   []string // of notes
	}{
		"reported": {
			worker, func(in *Input) { in.ApplyHostSettings, in.FirewallZone = false, "" }, nil, nil, true,
			[]string{"selinux-booleans", "kernel-arguments", "next-boot"},
		},
		"applied": {
			worker, nil, []string{argument, booleans, ports}, []string{"chronyd", "systemd"}, true, []string{"kernel-arguments"},
		},
		"booted with the arguments": {
			worker, func(in *Input) { in.Facts.Cmdline = []string{"psi=0"} },
			[]string{argument, booleans, ports},
			[]string{"chronyd", "systemd"},
			false, nil,
		},
		"no SELinux, no firewalld": {
			worker, func(in *Input) { in.Facts.SELinux, in.FirewallZone = "disabled", "" },
			[]string{argument},
			[]string{"chronyd", "systemd"},
			true,
			[]string{"kernel-arguments"},
		},
		"cgroup v1": {
			worker, func(in *Input) { in.Facts.CgroupV2, in.Facts.SELinux, in.FirewallZone = false, "", "" },
			[]string{"boot loader: systemd.unified_cgroup_hierarchy=1 psi=0"},
			[]string{"chronyd", "systemd"},
			true,
			[]string{"kernel-arguments"},
		},
		"no node": {systemdConfig(""), nil, nil, nil, false, nil},
		"to be removed": {
			`{"ignition":{"version":"3.4.0"},"kernelArguments":{"shouldNotExist":["quiet"]}}`,
			func(in *Input) { in.Facts.Cmdline = []string{"quiet"} },
			[]string{"boot loader: without quiet"},
			nil, true,
			[]string{"kernel-arguments"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			plan := adaptConfig(t, test.config, func(in *Input) {
				in.ApplyHostSettings, in.FirewallZone, in.Facts.SELinux = true, "public", "enforcing"
				if test.edit != nil {
					test.edit(in)
				}
			})
			var changes []string
			for _, change := range slices.Concat(plan.KernelArguments, plan.HostSettings) {
				changes = append(changes, change.Target+": "+change.Desired.Value)
			}
			if diff := cmp.Diff(test.changes, changes); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.loaded, plan.LoadedConfigs); diff != "" {
				t.Errorf("loaded configurations (-want +got):\n%s", diff)
			}
			if plan.NeedsReboot != test.reboot {
				t.Errorf("needs a reboot: %t", plan.NeedsReboot)
			}
			var rules []string
			for _, note := range plan.Notes {
				if slices.Contains([]string{"selinux-booleans", "kernel-arguments", "next-boot"}, note.Rule) {
					rules = append(rules, note.Rule)
				}
				if note.Remedy != "" && test.changes != nil {
					t.Errorf("the administrator must act: %s", note)
				}
			}
			slices.Sort(rules)
			slices.Sort(test.rules)
			if diff := cmp.Diff(test.rules, rules); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
}
