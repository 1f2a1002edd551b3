// SPDX-License-Identifier: Apache-2.0

package adapt

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/ignitiontest"
)

// Settings that the agent does not apply are listed with the command that does: one command for
// all kernel arguments in the payload's order, and packages by name.
func TestUnsupportedSettingsAreNoted(t *testing.T) {
	machine := `{"metadata":{"name":"r"},"spec":{"kernelArguments":["systemd.unified_cgroup_hierarchy=1","cgroup_no_v1=\"all\"",` +
		`"hugepagesz=1G hugepages=4","hugepagesz=2M hugepages=16","nosmt","a='b'"],` +
		`"fips":true,"kernelType":"realtime","extensions":["usbguard","sandboxed-containers","ipsec","of-tomorrow"]}}`
	config := `{"ignition":{"version":"3.4.0"},"kernelArguments":{"shouldExist":["quiet"],"shouldNotExist":["mitigations=off"]},` +
		`"storage":{"files":[{"path":"` + ignition.MachineConfigPath + `","contents":` + ignitiontest.InlineContent(machine) +
		`}]}}`
	software := []string{
		"extension usbguard: the agent does not install it: dnf install usbguard",
		"extension sandboxed-containers: the agent does not install it: dnf install kata-containers",
		"extension ipsec: the agent does not install it: dnf install NetworkManager-libreswan libreswan",
		"extension of-tomorrow: the agent does not install it, and its packages are unknown",
		"kernel type realtime: the agent does not install kernels: dnf install kernel-rt-core kernel-rt-modules " +
			"kernel-rt-modules-extra; takes effect at the next boot",
	}
	const arguments = "kernel arguments: the host was booted with different ones: grubby --update-kernel=ALL "
	const atBoot = "; takes effect at the next boot"
	set := []string{"quiet", "hugepagesz=1G", "hugepages=4", "hugepagesz=2M", "hugepages=16", "a='b'"}
	for name, test := range map[string]struct {
		edit func(*Input)
		want []string
	}{
		"many": {
			func(in *Input) {
				in.Facts.CgroupV2 = false
				in.Facts.Cmdline = []string{"nosmt", "mitigations=off"}
			},
			slices.Concat([]string{strings.Replace(arguments, "ones", "ones; removed or replaced: mitigations=off", 1) +
				`--args='systemd.unified_cgroup_hierarchy=1 cgroup_no_v1="all" ` +
				`hugepagesz=1G hugepages=4 hugepagesz=2M hugepages=16 a='\''b'\'' quiet' --remove-args=mitigations=off` + atBoot},
				software, []string{
					"FIPS mode: true: the host was installed in another mode; FIPS mode must be enabled at installation time",
				}),
		},
		"one": {
			func(in *Input) { in.Facts.FIPS, in.Facts.Cmdline = true, set },
			append([]string{arguments + "--args=nosmt" + atBoot}, software...),
		},
		"none": {func(in *Input) { in.Facts.FIPS, in.Facts.Cmdline = true, slices.Concat(set, []string{"nosmt"}) }, software},
	} {
		var got []string
		for _, note := range adaptConfig(t, config, test.edit).Notes {
			if note.Action == Unsupported {
				text := note.Subject + ": " + note.Reason
				if note.Remedy != "" {
					text += ": " + note.Remedy.Inline()
				}
				got = append(got, text)
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if got := report.ShellWord("a='b'"); got != `'a='\''b'\'''` {
		t.Errorf("quoted as %s", got)
	}
}

func TestExtensionsOfRHCOSAreNotOfTheImage(t *testing.T) {
	config := `{"ignition":{"version":"3.4.0"},"storage":{"files":[{"path":"` + ignition.MachineConfigPath + `","contents":` +
		ignitiontest.InlineContent(`{"metadata":{"name":"r"},"spec":{"kernelType":"realtime","extensions":["ipsec"]}}`) + `}]}}`
	for _, note := range adaptConfig(t, config, func(in *Input) {
		in.Facts.OSTree, in.Facts.OS.Variant = true, "coreos"
	}).Notes {
		if note.Action == Unsupported && (note.Remedy != "" || !strings.Contains(note.Reason, "at the first boot only")) {
			t.Errorf("note %+v", note)
		}
	}
}

// From OpenShift 5.0 on, Open vSwitch has a unit of its own for IPsec.
func TestPackagesOfExtensions(t *testing.T) {
	for units, want := range map[string]string{
		"": "NetworkManager-libreswan libreswan",
		`{"name":"openvswitch-ipsec.service","enabled":false}`: "NetworkManager-libreswan libreswan openvswitch3.5-ipsec",
	} {
		p, err := ignition.LoadPayload([]byte(systemdConfig(units)))
		if err != nil {
			t.Fatal(err)
		}
		planner, err := newPlanner(p, plainHost())
		if err != nil {
			t.Fatal(err)
		}
		if got := planner.extensionPackages("ipsec"); got != want {
			t.Errorf("%s: %q, want %q", units, got, want)
		}
	}
}

// The added sysctls depend on kubelet's configuration and unit, and on the manager of IP
// forwarding.
func TestNodeSysctls(t *testing.T) {
	const (
		protected = `{"protectKernelDefaults":true,"clusterDNS":["172.31.0.10"]}`
		oldScript = "#!/bin/bash\novs-vsctl add-br br-ex\n"
		newScript = "#!/bin/bash\nif [ -f /etc/nmstate/openshift/applied ]; then exit 0; fi\n"
		single    = "[Service]\\nExecStart=/usr/bin/kubelet --node-ip=${KUBELET_NODE_IP}\\n"
		dual      = "[Service]\\nExecStart=/usr/bin/kubelet --node-ip=${KUBELET_NODE_IPS}\\n"
	)
	flags := map[string]string{
		"vm.overcommit_memory": "1", "vm.panic_on_oom": "0", "kernel.panic": "10", "kernel.panic_on_oops": "1",
		"kernel.keys.root_maxkeys": "1000000", "kernel.keys.root_maxbytes": "25000000",
	}
	tests := []struct {
		name, config, unit, script string
		flags                      bool
		forwarding                 []string
	}{
		{"protected, JSON", protected, single, oldScript, true, []string{"net.ipv4.ip_forward"}},
		{
			"protected, IPv6", `{"protectKernelDefaults":true,"clusterDNS":["fd02::a"]}`, single, oldScript, true,
			[]string{"net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"},
		},
		{
			"dual stack, IPv4 first", protected, dual, oldScript, true,
			[]string{"net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"},
		},
		{"not protected", `{"protectKernelDefaults":false}`, single, oldScript, false, []string{"net.ipv4.ip_forward"}},
		{"no OVN-Kubernetes", protected, single, "", true, []string{"net.ipv4.ip_forward"}},
		{"OVN-Kubernetes manages forwarding", protected, single, newScript, true, nil},
		{"OVN-Kubernetes manages forwarding of both families", protected, dual, newScript, true, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			// from a MachineConfig of the pool
			own := ignitiontest.InlineContent("net.ipv4.ip_forward=1\nnet.ipv4.conf.all.forwarding=1\n")
			files := fmt.Sprintf(`{"path":%q,"contents":%s}`, ignition.KubeletConfigPath,
				ignitiontest.InlineContent(test.config))
			units := fmt.Sprintf(`{"name":"kubelet.service","contents":"%s"}`, test.unit)
			if test.script != "" {
				files += fmt.Sprintf(`,{"path":%q,"contents":%s}`, configureOVSPath, ignitiontest.InlineContent(test.script))
				units += `,{"name":"ovs-configuration.service","enabled":true,"contents":"[Install]\nWantedBy=multi-user.target\n"}`
			}
			if test.forwarding == nil {
				files += fmt.Sprintf(`,{"path":"/etc/sysctl.d/50-own.conf","contents":%s}`, own)
			}
			plan := adaptConfig(t,
				fmt.Sprintf(`{"ignition":{"version":"3.2.0"},"storage":{"files":[%s]},"systemd":{"units":[%s]}}`, files, units),
				nil)
			values := map[string]string{}
			for _, c := range plan.Sysctls {
				values[c.Target] = c.Desired.Value
			}
			want := map[string]string{}
			if test.flags {
				maps.Copy(want, flags)
			}
			for _, name := range test.forwarding {
				want[name] = "1"
			}
			if diff := cmp.Diff(want, values); diff != "" {
				t.Errorf("sysctls (-want +got):\n%s", diff)
			}
			var snapshots []string
			for _, c := range plan.Snapshots {
				snapshots = append(snapshots, string(c.Kind)+" "+c.Target)
			}
			var foreign []string
			if test.forwarding == nil {
				foreign = []string{"foreign sysctl net.ipv4.ip_forward", "foreign sysctl net.ipv6.conf.all.forwarding"}
			}
			if diff := cmp.Diff(foreign, snapshots); diff != "" {
				t.Errorf("snapshots (-want +got):\n%s", diff)
			}
		})
	}
	if plan := adaptConfig(t, systemdConfig(""), nil); len(plan.Files) != 0 {
		t.Errorf("a payload without kubelet got %v", plan.Files)
	}
}

func TestPackageForUnit(t *testing.T) {
	table, err := readTable()
	if err != nil {
		t.Fatal(err)
	}
	rhel := plainHost().Facts
	rhel.Arch = "arm64"
	for unit, want := range map[string]string{
		"openvswitch.service": "openvswitch3.Y of repository fast-datapath-for-rhel-9-aarch64-rpms",
		"crio.service":        "cri-o of repository rhocp-RELEASE-for-rhel-9-aarch64-rpms, or from the OS image",
		"chronyd.service":     "chrony",
		"own.service":         "",
	} {
		if got := describePackage(table.UnitPackages[unit], rhel); got != want {
			t.Errorf("packageOf(%s) = %q, want %q", unit, got, want)
		}
	}
	rhel.OS.ID = "centos"
	if got := describePackage(table.UnitPackages["crio.service"], rhel); got != "cri-o" {
		t.Errorf("on another distribution: %q", got)
	}
}

// Every rule of the table is complete and has a unique name.
func TestRuleTableIsConsistent(t *testing.T) {
	rules, err := readTable()
	if err != nil {
		t.Fatal(err)
	}
	kinds := []entryKind{kindFile, kindUnit, kindDropin, kindUser, kindHost}
	effects := []effect{
		effectSkip, effectRemove, effectOwnerOnly, effectInstallOnly, effectNothingToEnable, effectKeysOnly, effectReport,
		effectAdd,
	}
	seen, used := map[string]bool{}, map[string]bool{}
	for _, r := range rules.Rules {
		if seen[r.Name] || r.Name == "" || r.Reason == "" {
			t.Errorf("rule %q is incomplete, or there twice", r.Name)
		}
		seen[r.Name] = true
		if !slices.Contains(kinds, r.Kind) || !slices.Contains(effects, r.Effect) {
			t.Errorf("rule %q: unknown kind %q or effect %q", r.Name, r.Kind, r.Effect)
		}
		if (r.Kind == kindHost) != (len(r.Match) == 0) || (r.Effect == effectAdd) != (ruleDetails()[r.Name].add != nil) {
			t.Errorf("rule %q: what it matches or adds does not fit its kind", r.Name)
		}
		for _, name := range r.When {
			if used[name] = true; conditions[name] == nil {
				t.Errorf("rule %q: unknown condition %q", r.Name, name)
			}
		}
	}
	for name := range conditions {
		if !used[name] {
			t.Errorf("no rule uses condition %q", name)
		}
	}
	for name := range ruleDetails() {
		if !seen[name] {
			t.Errorf("no rule is named %q", name)
		}
	}
}
