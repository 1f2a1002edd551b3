// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"os"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/adapt"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger/resource"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest/machinetest"
)

// What the kernel refuses is a warning, as at boot, and no drift. All other values are set. The sysctls are those of
// this machine, and are set to their own values.
func TestRefusedKernelSettings(t *testing.T) {
	const set = "vm.max_map_count"
	current, err := os.ReadFile("/proc/sys/vm/max_map_count")
	flowtest.NoError(t, err)
	value := strings.TrimSpace(string(current))
	if err := os.WriteFile("/proc/sys/vm/max_map_count", current, 0); err != nil {
		t.Skipf("sysctls cannot be set: %v", err)
	}
	sysctl := func(name, value string) ledger.Change {
		return ledger.Change{
			Kind: ledger.Sysctl, Target: name, Reason: "/etc/sysctl.d/99-a.conf",
			Desired: ledger.State{Present: true, Value: value},
		}
	}
	m := machinetest.Open(t, t.TempDir())
	drivers := m.Drivers()
	drivers.Resources[ledger.Sysctl], drivers.Resources[ledger.Module] = resource.Sysctls{}, resource.Modules{}
	m.Ledger, err = ledger.Open(t.TempDir(), drivers)
	flowtest.NoError(t, err)
	defer m.Ledger.Close()
	j := NewFlow(plan.Run{}, m)
	j.Plan = &plan.Plan{Plan: &adapt.Plan{
		Modules: []ledger.Change{{Kind: ledger.Module, Target: "no-such-module", Desired: ledger.State{Present: true}}},
		Sysctls: []ledger.Change{
			sysctl("net.ipv4.tcp_congestion_control", "no_such_algorithm"), sysctl("no.such.sysctl", "1"),
			sysctl("vm.swappiness", "1000"), sysctl(set, value),
		},
	}}
	for range 3 {
		var logged flowtest.Events
		_, err := j.applyKernelSettings(t.Context(), report.Log{Sink: &logged})
		flowtest.NoError(t, err)
		text := strings.Join(logged, "\n")
		for _, name := range []string{"no-such-module", "tcp_congestion_control", "no.such.sysctl", "vm.swappiness"} {
			if !strings.Contains(text, name) {
				t.Errorf("no warning about %s in:\n%s", name, text)
			}
		}
		if strings.Contains(text, set) {
			t.Errorf("a warning about a value that was set:\n%s", text)
		}
	}
	drift, err := m.Ledger.Drift(t.Context())
	if err != nil || len(drift) > 0 {
		t.Errorf("drift %v, %v", drift, err)
	}
	if _, err := m.Ledger.Undo(t.Context()); err != nil {
		t.Errorf("undo: %v", err)
	}
	j.Plan.Sysctls = []ledger.Change{sysctl("vm.panic_on_oom", "no number")}
	if _, err := j.applyKernelSettings(t.Context(), report.Log{}); err == nil {
		t.Error("a value without which kubelet does not start was skipped")
	}
}
