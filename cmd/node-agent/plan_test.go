package main

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/adapt"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func newPlannedChange(group plan.Group, action plan.Action, kind ledger.Kind, target, why string, now, want ledger.State) plan.PlannedChange {
	return plan.PlannedChange{
		Group:   group,
		Action:  action,
		Kind:    kind,
		Target:  target,
		Reason:  why,
		Desired: ledger.PublishedState(want),
		Now:     ledger.PublishedState(now),
	}
}

func TestPrintPlan(t *testing.T) {
	there := func(content string, mode uint32) ledger.State {
		state := ledger.FileState([]byte(content), mode)
		state.Type = "file"
		return state
	}
	value := func(v string) ledger.State { return ledger.State{Present: true, Value: v} }
	enabled := func(e string) ledger.State { return ledger.State{Present: true, Enabled: e} }
	link := ledger.State{Present: true, Type: "link", Link: "/x"}
	none := ledger.State{}
	changed := newPlannedChange("files", "change", ledger.File, "/etc/changed", "override", there("a", 0o644), there("bc", 0o600))
	changed.Diff = "--- /etc/changed\n+++ /etc/changed\n@@ -1 +1 @@\n-a\n+bc\n"
	seven, owner := 7, there("a", 0o644)
	owner.UID = &seven
	document := plan.Document{
		NodeName: "worker-7", NodePool: "clusters/demo", Overrides: []string{"a.ign", "-"},
		Changes: []plan.PlannedChange{
			newPlannedChange("files", "add", ledger.Directory, "/etc/d", "payload", none, ledger.DirectoryState(0o750)),
			newPlannedChange("files", "add", ledger.File, "/etc/new", "payload", none, there("abc", 0o644)),
			newPlannedChange("files", "add", ledger.File, "/etc/a\n  - /etc/shadow\x1b[1A", "payload", none, there("abc", 0o644)),
			changed,
			newPlannedChange("files", "change", ledger.File, "/etc/other", "payload", there("a", 0o644), there("b", 0o644)),
			newPlannedChange("files", "change", ledger.File, "/etc/was-link", "payload", link, there("b", 0o644)),
			newPlannedChange("files", "remove", ledger.File, "/etc/gone", "adapt: empty-drop-in", there("a", 0o644), none),
			newPlannedChange("files", "attributes", ledger.File, "/etc/same", "adapt: secret-mode", there("a", 0o644), owner),
			newPlannedChange("units", "add", ledger.Symlink, "/etc/systemd/system/a.service", "payload", none, ledger.State{Present: true, Link: "/dev/null"}),
			newPlannedChange("kernel", "change", ledger.Sysctl, "vm.panic", "/etc/sysctl.d/a.conf", value("0"), value("1")),
			newPlannedChange("kernel", "add", ledger.Module, "ip_tables", "/etc/modules-load.d/a.conf", none, ledger.State{Present: true}),
			newPlannedChange("runtime", "add", ledger.File, "/etc/crio/a", "the release's pause image", none, there("abc", 0o644)),
			newPlannedChange("units", "change", ledger.Unit, "b.service", "payload", enabled("disabled"), enabled("enabled")),
			newPlannedChange("other", "add", "firewall", "10250/tcp", "payload", none, value("open")),
		},
		Network:      &plan.Network{Description: []string{"move eth0 into br-ex"}},
		Notes:        []adapt.Note{{Subject: "/etc/x", Action: adapt.Skip, Reason: "so", Rule: "r"}},
		MissingUnits: []string{"a.service (enabled by the payload)"},
	}
	const want = `changes that a join would make for worker-7 of NodePool clusters/demo
overrides: a.ign, -

files, directories and links: 3 new, 3 changed, 1 removed, 1 with other attributes
  + /etc/d: directory, mode 0750 (payload)
  + /etc/new: 3 bytes, mode 0644 (payload)
  + /etc/a\n  - /etc/shadow\x1b[1A: 3 bytes, mode 0644 (payload)
  ~ /etc/changed: 1 -> 2 bytes, mode 0644 -> 0600 (override)
      --- /etc/changed
      +++ /etc/changed
      @@ -1 +1 @@
      -a
      +bc
  ~ /etc/other: 1 bytes, content differs (payload)
  ~ /etc/was-link: link -> file, 1 bytes, mode 0644, owner 0, group 0 (payload)
  - /etc/gone: 1 bytes, mode 0644 (adapt: empty-drop-in)
  = /etc/same: owner 0 -> 7 (adapt: secret-mode)

units: 1 new, 1 changed
  + /etc/systemd/system/a.service: link to /dev/null (payload)
  ~ b.service: disabled -> enabled (payload)

kernel: 1 new, 1 changed
  ~ vm.panic: 0 -> 1 (/etc/sysctl.d/a.conf)
  + ip_tables: present (/etc/modules-load.d/a.conf)

runtime: 1 new
  + /etc/crio/a: 3 bytes, mode 0644 (the release's pause image)

other: 1 new
  + 10250/tcp: open (payload)

network
  move eth0 into br-ex

notes: skipped, changed and added entries
  skip   /etc/x: so (r)

missing
  a.service (enabled by the payload)
`
	var out bytes.Buffer
	printPlan(&report.Page{Writer: &out}, document)
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A host without pending changes has a plan of one line.
func TestPrintPlanWithoutChanges(t *testing.T) {
	for want, network := range map[string]*plan.Network{
		"br-ex is there": {Description: []string{"br-ex is there"}},
		"not planned: the step network is skipped, or Open vSwitch is not installed yet": nil,
	} {
		var out bytes.Buffer
		printPlan(&report.Page{Writer: &out}, plan.Document{
			NodeName: "worker-7",
			NodePool: "clusters/demo",
			Empty:    true,
			Notes:    []adapt.Note{{Subject: "a"}},
			Network:  network,
		})
		want = "worker-7 of NodePool clusters/demo: no changes needed\n  " + want + "\n"
		if out.String() != want {
			t.Errorf("%q, want %q", out.String(), want)
		}
	}
}
