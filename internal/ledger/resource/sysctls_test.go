// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"os"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

func TestSysctlPath(t *testing.T) {
	for name, want := range map[string]string{
		"vm.overcommit_memory":             "/proc/sys/vm/overcommit_memory",
		"vm/overcommit_memory":             "/proc/sys/vm/overcommit_memory",
		"net.ipv4.conf.eth0/100.rp_filter": "/proc/sys/net/ipv4/conf/eth0.100/rp_filter",
		"net/ipv4/conf/eth0.100/rp_filter": "/proc/sys/net/ipv4/conf/eth0.100/rp_filter",
		"plain":                            "/proc/sys/plain",
		"/../../../etc/passwd":             "/proc/sys/etc/passwd",
		"kernel/../../../../etc/shadow":    "/proc/sys/etc/shadow",
	} {
		if got := sysctlPath(name); got != want {
			t.Errorf("sysctlPath(%s) = %s, want %s", name, got, want)
		}
	}
}

func TestSysctlGet(t *testing.T) {
	state, err := Sysctls{}.Get(t.Context(), ledger.Change{Target: "kernel.ostype"})
	if err != nil || !state.Present || state.Value != "Linux" {
		t.Errorf("kernel.ostype: %v, %v", state, err)
	}
	// The file separates values by tabs, the desired state by spaces.
	raw, err := os.ReadFile("/proc/sys/kernel/printk")
	if err != nil {
		t.Fatal(err)
	}
	state, err = Sysctls{}.Get(t.Context(), ledger.Change{Target: "kernel.printk"})
	if err != nil || state.Value != strings.Join(strings.Fields(string(raw)), " ") || strings.Contains(state.Value, "\t") {
		t.Errorf("kernel.printk: %q of %q, %v", state.Value, raw, err)
	}
	state, err = Sysctls{}.Get(t.Context(), ledger.Change{Target: "kernel.no_such_parameter"})
	if err != nil || state.Present {
		t.Errorf("a parameter that is not there: %v, %v", state, err)
	}
	if err := (Sysctls{}).Restore(t.Context(), ledger.Change{Target: "kernel.no_such_parameter"},
		ledger.State{}); err != nil {
		t.Errorf("giving back what was not there: %v", err)
	}
}

// Any value of a foreign sysctl is accepted, and an undo restores the previous value.
func TestForeignSysctlIsRestoredAndNotDrift(t *testing.T) {
	const name = "net.ipv4.conf.lo.forwarding"
	change := ledger.Change{Kind: ledger.ForeignSysctl, Target: name, Desired: ledger.State{Present: true}}
	before, err := Sysctls{}.Get(t.Context(), change)
	if err != nil || !before.Present {
		t.Skipf("this kernel has no %s: %v", name, err)
	}
	other := map[string]string{"0": "1", "1": "0"}[before.Value]
	if err := writeSysctl(name, before.Value); err != nil {
		t.Skipf("only root can set it: %v", err)
	}
	t.Cleanup(func() { _ = writeSysctl(name, before.Value) })
	l, err := ledger.Open(t.TempDir(), ledger.Drivers{
		Snapshots: map[ledger.Kind]ledger.SnapshotDriver{ledger.ForeignSysctl: Sysctls{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := l.TrackExternal(t.Context(), "files", change); err != nil {
		t.Fatal(err)
	}
	if err := writeSysctl(name, other); err != nil {
		t.Fatal(err)
	}
	if drift, err := l.Drift(t.Context()); err != nil || len(drift) > 0 {
		t.Errorf("drift %v, %v", drift, err)
	}
	outcome, err := l.Undo(t.Context())
	if err != nil || len(outcome.Restored) != 1 || len(outcome.Kept) > 0 {
		t.Errorf("undo: %+v, %v", outcome, err)
	}
	if after, err := (Sysctls{}).Get(t.Context(), change); err != nil || after.Value != before.Value {
		t.Errorf("after the undo it is %s, before it was %s: %v", after, before, err)
	}
}
