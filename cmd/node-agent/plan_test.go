// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/effects"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/adapt"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kinds"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/payload"
	"github.com/hcp-node-agent/hcp-node-agent/internal/preview"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/clitest"
)

func newPlannedChange(group kinds.Group, action preview.Action, kind ledger.Kind, target, why string, now,
	want ledger.State,
) preview.PlannedChange {
	return preview.PlannedChange{
		Group:   group,
		Action:  action,
		Kind:    kind,
		Target:  target,
		Reason:  why,
		Desired: want,
		Now:     now,
	}
}

// The screen of a plan in a pipe: every action has its sign, names are escaped, and changes of
// existing objects precede additions.
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
	changed := newPlannedChange("files", "change", ledger.File, "/etc/changed", "override", there("a", 0o644),
		there("bc", 0o600))
	changed.Diff = "--- /etc/changed\n+++ /etc/changed\n@@ -1 +1 @@\n-a\n+bc\n"
	seven, owner := 7, there("a", 0o644)
	owner.UID = &seven
	document := preview.Document{
		NodeName: "worker-7", NodePool: "clusters/demo", Overrides: []string{"a.ign", "-"}, Unchanged: 2,
		Payload: preview.PayloadOrigin{Source: payload.KindSaved, Summary: "2 files"},
		Facts:   preview.FactsOrigin{Source: preview.FactsOfThisHost, Host: "RHEL 9"},
		Changes: []preview.PlannedChange{
			newPlannedChange("files", "add", ledger.Directory, "/etc/d", "payload", none, ledger.DirectoryState(0o750)),
			newPlannedChange("files", "add", ledger.File, "/etc/new", "payload", none, there("abc", 0o644)),
			newPlannedChange("files", "add", ledger.File, "/etc/a\n  - /etc/shadow\x1b[1A", "payload", none,
				there("abc", 0o644)),
			changed,
			newPlannedChange("files", "change", ledger.File, "/etc/other", "payload", there("a", 0o644), there("b", 0o644)),
			newPlannedChange("files", "change", ledger.File, "/etc/was-link", "payload", link, there("b", 0o644)),
			newPlannedChange("files", "remove", ledger.File, "/etc/gone", "adapt: empty-drop-in", there("a", 0o644), none),
			newPlannedChange("files", "attributes", ledger.File, "/etc/same", "adapt: secret-mode", there("a", 0o644), owner),
			newPlannedChange("units", "add", ledger.Symlink, "/etc/systemd/system/a.service", "payload", none,
				ledger.State{Present: true, Link: "/dev/null"}),
			newPlannedChange("kernel", "change", ledger.Sysctl, "vm.panic", "/etc/sysctl.d/a.conf", value("0"), value("1")),
			newPlannedChange("kernel", "add", ledger.Module, "ip_tables", "/etc/modules-load.d/a.conf", none,
				ledger.State{Present: true}),
			newPlannedChange("runtime", "add", ledger.File, "/etc/crio/a", "the release's pause image", none,
				there("abc", 0o644)),
			newPlannedChange("units", "change", ledger.Unit, "b.service", "payload", enabled("disabled"), enabled("enabled")),
			newPlannedChange("other", "add", "firewall", "10250/tcp", "payload", none, value("open")),
		},
		Obsolete: []preview.ObsoleteObject{{Kind: ledger.File, Target: "/etc/old"}},
		Network:  &preview.Network{Description: []string{"move eth0 into br-ex"}},
		Notes: []adapt.Note{
			{Subject: "/etc/x", Action: adapt.Skip, Reason: "so", Rule: "r"},
			{
				Subject: "kernel type",
				Action:  adapt.Unsupported,
				Reason:  "missing",
				Rule:    "k",
				Remedy:  "dnf install kernel-rt # then reboot",
			},
			{Subject: "/etc/y", Action: adapt.Skip, Reason: "so", Rule: "r"},
		},
		Connections: []report.Finding{
			{Check: "connections", Severity: report.SeverityNote, Message: "the konnectivity server: not checked"},
			{
				Check: "connections", Severity: report.SeverityWarning, Remedy: "curl -sSIm 20 https://quay.io/v2/",
				Message: "registry quay.io: no route; images cannot be pulled",
			},
		},
		MissingUnits: []string{"a.service (enabled by the payload)"},
	}
	checkPlanScreen(t, "actions", 0, true, document)
}

// The screen of an upgrade names each service that is restarted, with the changes that require it.
func TestPrintUpgrade(t *testing.T) {
	var all effects.Effects
	for _, target := range []string{
		"/etc/containers/registries.conf", "/etc/kubernetes/kubelet.conf", "/etc/systemd/system/example.service",
		"/etc/sysctl.d/a.conf", "/etc/kubernetes/manifests/a.yaml",
	} {
		all = append(all, effects.OfPath(target))
	}
	all = append(all, effects.OfPackage("openshift-kubelet"), effects.OfPackage("cri-o"))
	checkPlanScreen(t, "upgrade", 80, false, preview.Document{
		NodeName: "worker-7", NodePool: "clusters/demo",
		Payload:  preview.PayloadOrigin{Source: payload.KindServer, Name: "ignition.example.com", Summary: "2 files"},
		Facts:    preview.FactsOrigin{Source: preview.FactsOfThisHost, Host: "RHEL 9"},
		Obsolete: []preview.ObsoleteObject{{Kind: ledger.File, Target: "/etc/old"}},
		Upgrade:  true,
		Effects:  all,
	})
}

// checkPlanScreen compares the screen of a plan with a file in testdata/plan. UPDATE=1 writes the file.
func checkPlanScreen(t *testing.T, name string, width int, complete bool, document preview.Document) {
	t.Helper()
	var out bytes.Buffer
	planScreen{&report.Page{Writer: &out, Width: width}, complete}.print(document)
	file := filepath.Join("testdata", "plan", name+".txt")
	checkGolden(t, file, out.Bytes())
	for line := range strings.Lines(out.String()) {
		isText := strings.Contains(strings.TrimSpace(line), " ") && !strings.HasPrefix(line, "setsebool ") // a command
		if columns := utf8.RuneCountInString(line) - 1; width > 0 && columns > width && isText {
			t.Errorf("%s: a line has %d columns: %s", file, columns, line)
		}
	}
}

// Additions are abbreviated, and changes of existing objects are not.
func TestPlanAbbreviatesAdditions(t *testing.T) {
	var document preview.Document
	for i := range 20 {
		change := newPlannedChange("files", "add", ledger.File, fmt.Sprintf("/etc/%02d", i), "payload", ledger.State{},
			ledger.State{Present: true})
		if i >= 14 {
			change.Action, change.Now.Present = preview.ActionRemove, true
		}
		document.Changes = append(document.Changes, change)
		document.Obsolete = append(document.Obsolete,
			preview.ObsoleteObject{Kind: ledger.File, Target: fmt.Sprintf("/etc/kept-%02d", i)})
	}
	var out bytes.Buffer
	planScreen{Page: &report.Page{Writer: &out}}.print(document)
	for text, want := range map[string]int{
		"  - /etc/":                    6,
		"  + /etc/":                    0,
		"and 14 more (-v lists all)\n": 1,
		"  file /etc/kept-":            5,
		"and 15 more (-v lists all)\n": 1,
	} {
		if got := strings.Count(out.String(), text); got != want {
			t.Errorf("%q: %d times, want %d, in\n%s", text, got, want, out.String())
		}
	}
}

func TestPrintPlanWithoutChanges(t *testing.T) {
	var out bytes.Buffer
	planScreen{Page: &report.Page{Writer: &out}}.print(preview.Document{
		NodeName: "worker-7",
		Payload:  preview.PayloadOrigin{Source: payload.KindServer, Name: "ignition.example.com", Summary: "2 files"},
		Facts:    preview.FactsOrigin{Source: preview.FactsOfThisHost, Host: "RHEL 9"},
		Empty:    true, Unchanged: 1,
		NotPlanned: []string{"network: the step network is skipped"},
	})
	const want = `Plan for worker-7
  payload    2 files, from ignition.example.com
  facts      this host: RHEL 9

  0 to add   0 to change   0 to remove   1 unchanged   0 skipped   0 actions for you

This host is up to date: no changes needed

Not planned
  network: the step network is skipped

Plan: 0 to add, 0 to change, 0 to remove, 1 unchanged, 0 skipped, 0 actions for you
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// planArguments returns the arguments of a plan without a host: a payload with every kind of entry, facts and
// an override.
func planArguments() []string {
	return []string{
		"plan", "--config", filepath.Join("testdata", "plan", "config.yaml"),
		"--payload", "../../internal/ignition/adapt/testdata/worker.ign", "--facts",
		filepath.Join("testdata", "plan", "facts.json"),
	}
}

// The screens of a plan on a terminal of 80 and 120 columns and with -v in a pipe.
func TestPlanScreens(t *testing.T) {
	c, err := agent().ParseLine(planArguments())
	if err != nil {
		t.Fatal(err)
	}
	options, err := optionsFrom(c, c.Flag("config").Value.String(), newPrinter(cli.Streams{}))
	if err != nil {
		t.Fatal(err)
	}
	options.Payload, options.Facts = c.Flag("payload").Value.String(), c.Flag("facts").Value.String()
	document, err := preview.Show(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	for name, width := range map[string]int{"80": 80, "120": 120, "pipe": 0} {
		checkPlanScreen(t, name, width, width == 0, document)
	}
}

// Without --detailed-exitcode, a plan with changes is a success. The exit code is a result: no error is printed.
func TestDetailedExitCode(t *testing.T) {
	for _, test := range []struct {
		flags []string
		code  report.Code
		err   string
	}{
		{nil, report.Success, ""},
		{[]string{"--detailed-exitcode"}, report.ChangesPlanned, "the plan contains changes"},
	} {
		args := append(planArguments(), test.flags...)
		text, document := runCommandLine(t, "", args...),
			clitest.DecodeDocument(t, runCommandLine(t, "", append(args, "-o", "json")...).Out)
		message, _ := document["error"].(string)
		if text.Code != test.code || !strings.HasPrefix(text.Out, "Plan for worker-7 ") ||
			document["exitCode"] != float64(test.code) ||
			document["kind"] != "Plan" || message != test.err || text.Err != "" {
			t.Errorf("%q: exit code %d, stderr %q, document: exit code %v, kind %v, error %q",
				test.flags, text.Code, text.Err, document["exitCode"], document["kind"], message)
		}
	}
}

func TestPlanRefusesOtherInputs(t *testing.T) {
	dir := writeTempFiles(t, map[string]string{
		"user-data.ign": unreachableUserData(t),
		"facts.json":    `{"apiVersion":"hcp-node-agent.io/v1alpha1","kind":"HostFacts"}`,
		"remote.ign": `{"ignition":{"version":"3.2.0"},
			"storage":{"files":[{"path":"/a","contents":{"source":"https://example.com/a"}}]}}`,
	})
	in := func(name string) string { return filepath.Join(dir, name) }
	for _, test := range []struct{ payload, facts, want string }{
		{in("none"), "testdata/plan/facts.json", "no such file"},
		{in("user-data.ign"), "testdata/plan/facts.json", "is user data, not a payload"},
		{in("remote.ign"), "testdata/plan/facts.json", "not fetched offline: file /a at https://example.com/a"},
		{in("remote.ign"), in("facts.json"), "not set: arch, hostname, os.id"},
		{in("remote.ign"), in("user-data.ign"), "unknown field"},
		{in("remote.ign"), in("none"), "no such file"},
	} {
		got := runCommandLine(t, "", "plan", "--config", "testdata/plan/config.yaml", "--payload", test.payload, "--facts",
			test.facts)
		if got.Code != report.Usage || !strings.Contains(got.Err, test.want) || got.Out != "" {
			t.Errorf("payload %s, facts %s: exit code %d, %q, want %q", test.payload, test.facts, got.Code, got.Err, test.want)
		}
	}
}
