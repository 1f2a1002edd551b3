// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"os"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
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
	flush := ledger.Change{Target: "net.ipv4.route.flush", Desired: ledger.State{Present: true, Value: "1"}}
	state, err = Sysctls{}.Get(t.Context(), flush)
	if err != nil || state.Value != "1" || hostinfo.HasSysctl(flush.Target) || !hostinfo.HasSysctl("kernel.ostype") {
		t.Errorf("%s, which can only be written: %v, %v", flush.Target, state, err)
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

func TestSysctlsInOtherForms(t *testing.T) {
	for _, test := range []struct {
		have, want string
		same       bool
	}{
		{"65536", "0x10000", true},
		{"65536", "65536", true},
		{"4096 131072 6291456", "4096  0x20000 6291456", true},
		{"1", "01", true},
		{"1", "2", false},
		{"a b", "a", false},
		{"", "", false},
		{"cubic", "bbr", false},
	} {
		if got := isSameValue(test.have, test.want); got != test.same {
			t.Errorf("isSameValue(%q, %q) = %t", test.have, test.want, got)
		}
	}
}

// The kernel prints 0 for the member of a pair that is not in use, and refuses to have it written.
func TestSysctlPairIsRestored(t *testing.T) {
	const name, other = "vm.dirty_background_bytes", "vm.dirty_background_ratio"
	get := func(name string) string {
		state, err := Sysctls{}.Get(t.Context(), ledger.Change{Target: name})
		must(t, err)
		return state.Value
	}
	ratio := get(other)
	if err := writeSysctl(other, ratio); err != nil || get(name) != "0" {
		t.Skipf("the pair cannot be set, or is set by the number of bytes: %v", err)
	}
	t.Cleanup(func() { _ = writeSysctl(other, ratio) })
	l, err := ledger.Open(t.TempDir(), ledger.Drivers{Resources: map[ledger.Kind]ledger.Driver{ledger.Sysctl: Sysctls{}}})
	must(t, err)
	defer l.Close()
	_, err = l.Apply(t.Context(), "system", []ledger.Change{
		{Kind: ledger.Sysctl, Target: name, Desired: ledger.State{Present: true, Value: "268435456"}},
	})
	must(t, err)
	if get(other) != "0" {
		t.Fatalf("the ratio is still in use: %s", get(other))
	}
	outcome, err := l.Undo(t.Context())
	must(t, err)
	if get(other) != ratio || get(name) != "0" {
		t.Errorf("after the undo: %s=%s, %s=%s", name, get(name), other, get(other))
	}
	left, err := Sysctls{}.Unrestored(t.Context(), outcome.Restored)
	if err != nil || len(left) > 0 {
		t.Errorf("reported as not restored: %q, %v", left, err)
	}
	// A value that the kernel refuses is reported, and does not stop the undo.
	change := ledger.Change{Kind: ledger.Sysctl, Target: other}
	before := ledger.State{Present: true, Value: "1000"}
	must(t, Sysctls{}.Restore(t.Context(), change, before))
	left, err = Sysctls{}.Unrestored(t.Context(), []ledger.Item{{Change: change, Before: before}})
	if err != nil || len(left) != 1 {
		t.Errorf("reported as not restored: %q, %v", left, err)
	}
}
