// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger/resource"
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
	settings := []ledger.Change{
		{Kind: ledger.Module, Target: "no-such-module", Desired: ledger.State{Present: true}},
		sysctl("net.ipv4.tcp_congestion_control", "no_such_algorithm"), sysctl("no.such.sysctl", "1"),
		sysctl("vm.swappiness", "1000"), sysctl(set, value),
	}
	for range 3 {
		var logged flowtest.Events
		_, err := applyKernelSettings(t.Context(), m.Ledger, settings, report.Log{Sink: &logged})
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
	settings = []ledger.Change{settings[0], sysctl("vm.panic_on_oom", "no number")}
	if _, err := applyKernelSettings(t.Context(), m.Ledger, settings, report.Log{}); err == nil {
		t.Error("a value without which kubelet does not start was skipped")
	}
}

// The value that the kernel makes of another one, here without a comment, is no drift and is not set again. The sysctl
// is one of this machine, and is set to its own value.
func TestAdjustedSysctlIsNoDrift(t *testing.T) {
	const name = "kernel.printk_ratelimit_burst"
	current, err := os.ReadFile("/proc/sys/kernel/printk_ratelimit_burst")
	flowtest.NoError(t, err)
	if err := os.WriteFile("/proc/sys/kernel/printk_ratelimit_burst", current, 0); err != nil {
		t.Skipf("sysctls cannot be set: %v", err)
	}
	value := strings.TrimSpace(string(current))
	m := machinetest.Open(t, t.TempDir())
	drivers := m.Drivers()
	drivers.Resources[ledger.Sysctl] = resource.Sysctls{}
	m.Ledger, err = ledger.Open(t.TempDir(), drivers)
	flowtest.NoError(t, err)
	defer m.Ledger.Close()
	request := func(value string) []ledger.Change {
		return []ledger.Change{{
			Kind: ledger.Sysctl, Target: name, Desired: ledger.State{Present: true, Value: value},
		}}
	}
	adjusted := request(value + " # for the console")
	for run, want := range []int{1, 0, 0} {
		var logged flowtest.Events
		made, err := applyKernelSettings(t.Context(), m.Ledger, adjusted, report.Log{Sink: &logged})
		flowtest.NoError(t, err)
		if len(made) != want || (len(logged) > 0) != (want > 0) {
			t.Errorf("run %d: changes %v, messages %q", run, made, logged)
		}
		drift, err := m.Ledger.Drift(t.Context())
		if err != nil || len(drift) > 0 {
			t.Errorf("run %d: drift %v, %v", run, drift, err)
		}
	}
	if pending, err := m.Ledger.Diff(t.Context(), request("no number")); err != nil || len(pending) != 1 {
		t.Errorf("another value is not planned: %v, %v", pending, err)
	}
	if result, err := m.Ledger.Undo(t.Context()); err != nil || len(result.Kept) > 0 {
		t.Errorf("undo: %+v, %v", result, err)
	}
}

// Booleans and ports that a later plan does not have are reverted before its own are set.
func TestBooleansFollowThePlan(t *testing.T) {
	bin := t.TempDir()
	record := filepath.Join(bin, "record")
	script := "#!/bin/sh\necho \"$@\" >>" + record + `
shift
for setting; do case $setting in *=on) value=1 ;; *) value=0 ;; esac
	echo "$value $value" >` + bin + `/${setting%=*}; done
`
	//nolint:gosec // must be executable
	flowtest.NoError(t, os.WriteFile(filepath.Join(bin, "setsebool"), []byte(script), 0o700))
	flowtest.WriteTree(t, bin, map[string]string{"kept": "0 0", "dropped": "0 0", "new": "0 0"})
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	m := machinetest.Open(t, t.TempDir())
	drivers := m.Drivers()
	drivers.Resources[resource.BooleansKind] = resource.Booleans{Dir: bin}
	l, err := ledger.Open(t.TempDir(), drivers)
	flowtest.NoError(t, err)
	defer l.Close()
	m.Ledger = l
	for _, settings := range [][]string{{"kept=on", "dropped=on"}, {"kept=on", "new=on"}} {
		change := resource.BooleanChange("test", settings...)
		_, err := setHostSettings(t.Context(), m.Ledger, []ledger.Change{change}, report.Log{})
		flowtest.NoError(t, err)
	}
	got, err := os.ReadFile(record)
	flowtest.NoError(t, err)
	if want := "-P kept=on dropped=on\n-P kept=off dropped=off\n-P kept=on new=on\n"; string(got) != want {
		t.Errorf("setsebool was run as %q, want %q", got, want)
	}
}
