package ledger

import (
	"os"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
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
	state, err := Sysctls{}.Get(t.Context(), Change{Target: "kernel.ostype"})
	if err != nil || !state.Present || state.Value != "Linux" {
		t.Errorf("kernel.ostype: %v, %v", state, err)
	}
	// The file separates values by tabs, the desired state by spaces.
	raw, err := os.ReadFile("/proc/sys/kernel/printk")
	if err != nil {
		t.Fatal(err)
	}
	state, err = Sysctls{}.Get(t.Context(), Change{Target: "kernel.printk"})
	if err != nil || state.Value != strings.Join(strings.Fields(string(raw)), " ") || strings.Contains(state.Value, "\t") {
		t.Errorf("kernel.printk: %q of %q, %v", state.Value, raw, err)
	}
	state, err = Sysctls{}.Get(t.Context(), Change{Target: "kernel.no_such_parameter"})
	if err != nil || state.Present {
		t.Errorf("a parameter that is not there: %v, %v", state, err)
	}
	if err := (Sysctls{}).Restore(t.Context(), Change{Target: "kernel.no_such_parameter"}, State{}); err != nil {
		t.Errorf("giving back what was not there: %v", err)
	}
}

func TestUndoLeavesModulesLoaded(t *testing.T) {
	entries, err := os.ReadDir("/sys/module")
	if err != nil || len(entries) == 0 {
		t.Fatalf("this kernel has no /sys/module: %v", err)
	}
	loaded := entries[0].Name()
	state, err := Modules{}.Get(t.Context(), Change{Target: strings.ReplaceAll(loaded, "_", "-")})
	if err != nil || !state.Present {
		t.Errorf("%s: %v, %v", loaded, state, err)
	}
	if state, err := (Modules{}).Get(t.Context(), Change{Target: "no_such_module"}); err != nil || state.Present {
		t.Errorf("a module that is not there: %v, %v", state, err)
	}
	if err := (Modules{}).Restore(t.Context(), Change{Target: "no_such_module"}, State{}); err != nil {
		t.Error(err)
	}
}

func TestNormalizeEnablement(t *testing.T) {
	for file, want := range map[string]string{
		"enabled": "enabled", "enabled-runtime": "enabled", "alias": "enabled", "masked-runtime": "masked",
		"disabled": "disabled", "static": "static", "indirect": "indirect", "": "",
	} {
		if got := normalizeEnablement(file); got != want {
			t.Errorf("enablement(%q) = %q, want %q", file, got, want)
		}
	}
}

// A desired state that is already reached or empty does not call systemd, which is missing
// here.
func TestUnitsInDesiredStateNeedNoSystemd(t *testing.T) {
	units := &Units{Systemd: (*systemd.Manager)(nil)}
	for name, test := range map[string]struct{ now, want State }{
		"as wished":        {State{Enabled: "enabled", Active: "active"}, State{Enabled: "enabled", Active: "active"}},
		"nothing is said":  {State{Enabled: "enabled", Active: "inactive"}, State{}},
		"follows the file": {State{Enabled: "disabled"}, State{Enabled: "static"}},
	} {
		t.Run(name, func(t *testing.T) {
			if err := units.Set(t.Context(), Change{Kind: Unit, Target: "a.service", Desired: test.want}, test.now); err != nil {
				t.Error(err)
			}
		})
	}
	err := units.Set(t.Context(), Change{Kind: Unit, Target: "a.service", Desired: State{Active: "failed"}}, State{Active: "active"})
	if err == nil || !strings.Contains(err.Error(), `"failed"`) {
		t.Errorf("a state that nothing can be brought to: %v", err)
	}
}

func TestMatches(t *testing.T) {
	mode, other := uint32(0o600), uint32(0o644)
	file := func(edit func(*State)) State {
		s := State{Present: true, Type: "file", Digest: "aa", Mode: &mode}
		edit(&s)
		return s
	}
	as := func(*State) {}
	for name, test := range map[string]struct {
		kind Kind
		want State
		now  State
		same bool
	}{
		"equal":                {File, file(as), file(as), true},
		"nothing wished of it": {File, State{Present: true}, file(as), true},
		"other content":        {File, file(as), file(func(s *State) { s.Digest = "bb" }), false},
		"other mode":           {File, file(as), file(func(s *State) { s.Mode = &other }), false},
		"mode not seen":        {File, file(as), file(func(s *State) { s.Mode = nil }), false},
		"other type":           {File, State{Present: true}, State{Present: true, Type: "directory"}, false},
		"a link, no file":      {File, State{Present: true}, State{Present: true, Type: "link"}, false},
		"absent, wished":       {File, file(as), State{}, false},
		"there, not wished":    {File, State{}, file(as), false},
		"absent, not wished":   {File, State{}, State{}, true},
		"unit as wished":       {Unit, State{Present: true, Enabled: "enabled"}, State{Present: true, Enabled: "enabled", Active: "inactive"}, true},
		"unit not running":     {Unit, State{Present: true, Active: "active"}, State{Present: true, Enabled: "enabled", Active: "inactive"}, false},
		"other value":          {Sysctl, State{Present: true, Value: "1"}, State{Present: true, Value: "0"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if same := (Change{Kind: test.kind, Desired: test.want}).Matches(test.now); same != test.same {
				t.Errorf("Same = %t", same)
			}
		})
	}
}

// Any value of a foreign sysctl is accepted, and an undo restores the previous value.
func TestForeignSysctlIsRestoredAndNotDrift(t *testing.T) {
	const name = "net.ipv4.conf.lo.forwarding"
	change := Change{Kind: ForeignSysctl, Target: name, Desired: State{Present: true}}
	before, err := Sysctls{}.Get(t.Context(), change)
	if err != nil || !before.Present {
		t.Skipf("this kernel has no %s: %v", name, err)
	}
	other := map[string]string{"0": "1", "1": "0"}[before.Value]
	if err := writeSysctl(name, before.Value); err != nil {
		t.Skipf("only root can set it: %v", err)
	}
	t.Cleanup(func() { _ = writeSysctl(name, before.Value) })
	l, err := Open(t.TempDir(), map[Kind]Driver{ForeignSysctl: ForeignSysctls{}})
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
