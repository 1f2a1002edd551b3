// SPDX-License-Identifier: Apache-2.0

package adapt

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/test/ignitiontest"
)

// The change for ovs-configuration.service depends on its script alone.
func TestConfigureOVSChangeDependsOnScript(t *testing.T) {
	const (
		clears = "ovs-vsctl set Open_vSwitch . external_ids:ovn-remote=\" \"\n"
		checks = "if [ -e /etc/nmstate/openshift/applied ]; then\n  exit 0\nfi\n"
		unit   = `"systemd":{"units":[{"name":"ovs-configuration.service","enabled":true,"contents":"[Service]\nExecStart=/usr/local/bin/configure-ovs.sh\n[Install]\nRequiredBy=a.target\n"}]}`
		only   = "[Service]\nExecStart=\nExecStart=-/usr/bin/ovs-vsctl --no-wait --timeout=10 set Open_vSwitch . " +
			"\"external_ids:ovn-remote= \"\nRemainAfterExit=yes\n"
		before = "[Service]\nExecStartPre=-/usr/bin/ovs-vsctl --no-wait --timeout=10 set Open_vSwitch . " +
			"\"external_ids:ovn-remote= \"\n"
	)
	for name, test := range map[string]struct{ script, rule, dropin string }{
		"4.16 and later":           {"#!/bin/bash\n" + clears + checks, "report ovs-configuration", ""},
		"4.16 of before June 2025": {"#!/bin/bash\n" + checks, "add ovs-configuration-remote", before},
		"clears too late":          {"#!/bin/bash\n" + checks + clears, "add ovs-configuration-remote", before},
		"mentions that it clears":  {"# " + clears + checks, "add ovs-configuration-remote", before},
		"before 4.16":              {"#!/bin/bash\nrollback_nm\n", "add ovs-configuration-old", only},
		"only mentions the switch": {"# see /etc/nmstate/openshift/applied\n" + clears, "add ovs-configuration-old", only},
		"no script":                {"", "add ovs-configuration-old", only},
	} {
		t.Run(name, func(t *testing.T) {
			storage := ""
			if test.script != "" {
				storage = fmt.Sprintf(`"storage":{"files":[{"path":"/usr/local/bin/configure-ovs.sh","mode":493,"contents":%s}]},`,
					ignitiontest.InlineContent(test.script))
			}
			plan := adaptConfig(t, `{"ignition":{"version":"3.2.0"},`+storage+unit+`}`, nil)
			if got := ruleFor(plan, "ovs-configuration.service"); got != test.rule {
				t.Errorf("rule %q, want %q", got, test.rule)
			}
			got := ""
			i := slices.IndexFunc(plan.Files, func(c ledger.Change) bool {
				return c.Target == "/etc/systemd/system/ovs-configuration.service.d/90-hcp-node-agent.conf"
			})
			if i >= 0 {
				got = string(plan.Files[i].Desired.Content)
			}
			want := test.dropin
			if want != "" {
				want = fileHeader + want
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("drop-in (-want +got):\n%s", diff)
			}
			if len(plan.Units) != 1 || plan.Units[0].Desired.Enabled != "enabled" {
				t.Error("it must stay enabled: kubelet-dependencies.target requires it")
			}
		})
	}
}

// RHEL CoreOS runs the payload's units unchanged.
func TestConfigureOVSIsUnchangedOnCoreOS(t *testing.T) {
	plan := adaptConfig(t,
		systemdConfig(`{"name":"ovs-configuration.service","enabled":true,"contents":"[Service]\nExecStart=/a\n[Install]\nRequiredBy=a.target\n"}`),
		func(in *Input) { in.Facts.OSTree, in.Facts.OS.Variant = true, "coreos" })
	if got := ruleFor(plan, "ovs-configuration.service"); got != "report native-unit" || len(plan.Files) != 2 {
		t.Errorf("rule %q, files %v", got, plan.Files)
	}
}

// A script that creates br-ex at every boot must continue to do so: without br-ex, the host is unreachable.
func TestScriptThatCreatesTheBridgeIsKept(t *testing.T) {
	config := systemdConfig(`{"name":"ovs-configuration.service","enabled":true,` +
		`"contents":"[Service]\nExecStart=/usr/local/bin/configure-ovs.sh\n[Install]\nRequiredBy=a.target\n"}`)
	plan := adaptConfig(t, config, func(in *Input) { in.CreatesBridgeAtBoot = true })
	if got := ruleFor(plan, "ovs-configuration.service"); got != "report ovs-configuration-kept" {
		t.Errorf("rule %q", got)
	}
	if slices.ContainsFunc(plan.Files, func(c ledger.Change) bool {
		return strings.HasPrefix(c.Target, "/etc/systemd/system/ovs-configuration.service.d/")
	}) {
		t.Errorf("files %v, want no drop-in", plan.Files)
	}
}
