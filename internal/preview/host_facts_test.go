// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/accounts"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger/resource"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func TestHostFactsRoundTrip(t *testing.T) {
	want := newDefaultFacts()
	want.KernelArguments = []string{"quiet"}
	var out strings.Builder
	if err := report.WriteJSON(&out, want); err != nil {
		t.Fatal(err)
	}
	got, err := parseFacts("facts.json", []byte(out.String()))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParseFactsRejectsOtherDocuments(t *testing.T) {
	for content, want := range map[string]string{
		"":                     "EOF",
		`{"kernel":"5.14"}`:    `unknown field "kernel"`,
		`{"kind":"HostFacts"}`: `apiVersion "", not a HostFacts`,
		`{"apiVersion":"` + report.APIVersion + `","kind":"Plan"}`:                          `it is a "Plan"`,
		`{"apiVersion":"` + report.APIVersion + `","kind":"HostFacts","arch":"amd64"}`:      "not set: hostname, os.id",
		`{"apiVersion":"` + report.APIVersion + `","kind":"HostFacts","units":["a"]}`:       "cannot unmarshal array",
		`{"apiVersion":"` + report.APIVersion + `","kind":"HostFacts","users":{"a":"one"}}`: "cannot unmarshal string",
	} {
		if _, err := parseFacts("f", []byte(content)); report.CodeOf(err) != report.Usage ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", content, err, want)
		}
	}
}

func TestUnitStateOfFacts(t *testing.T) {
	facts := HostFacts{Units: map[string]string{"a.service": "enabled", "t@.service": "static"}}
	for name, want := range map[string]systemd.UnitState{
		"a.service":   {Load: "loaded", File: "enabled"},
		"t@.service":  {Load: "loaded", File: "static"},
		"t@1.service": {Load: "loaded", File: "static"},
		"t@1.socket":  {Load: "not-found"},
		"t@1":         {Load: "not-found"},
		"b.service":   {Load: "not-found"},
	} {
		if got := facts.unitState(name); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

// A plan for another host reads accounts, os-release and units from the facts, and leaves no files.
func TestOtherHost(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	elsewhere := &target{session: &plan.Session{Run: &plan.Run{}}}
	if err := elsewhere.openOtherHost(newDefaultFacts()); err != nil {
		t.Fatal(err)
	}
	users, groups, err := accounts.IDs(elsewhere.session.Host.Files)
	if err != nil {
		t.Fatal(err)
	}
	root, isUser := users["root"]
	wheel, isGroup := groups["wheel"]
	_, other := users["wheel"]
	if root != 0 || !isUser || wheel != 10 || !isGroup || other {
		t.Errorf("root is %d (%t), wheel is %d (%t), user wheel: %t", root, isUser, wheel, isGroup, other)
	}
	if content, _, err := elsewhere.session.Host.Files.ReadFile("/etc/os-release"); err != nil ||
		!strings.Contains(string(content), "VERSION_ID=\"9\"\n") {
		t.Errorf("os-release: %s", content)
	}
	unit := func(name string) ledger.Change {
		return ledger.Change{Kind: ledger.Unit, Target: name, Desired: ledger.State{Present: true, Enabled: "enabled"}}
	}
	pending, err := elsewhere.session.Host.Ledger.Diff(t.Context(), []ledger.Change{
		unit("chronyd.service"), unit("chrony-wait.service"),
		{Kind: ledger.Sysctl, Target: "vm.panic_on_oom", Desired: ledger.State{Present: true, Value: "0"}},
	})
	if err != nil || len(pending) != 2 || pending[0].Now.Enabled != "disabled" || pending[1].Now.Present {
		t.Errorf("%+v, %v", pending, err)
	}
	scratch := elsewhere.session.Host.Files.Name()
	elsewhere.close()
	if _, err := os.Stat(scratch); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s was not removed: %v", scratch, err)
	}
}

func TestCompareWithEarlierPayload(t *testing.T) {
	present := ledger.State{Present: true}
	change := func(kind ledger.Kind, target string) ledger.Change {
		return ledger.Change{Kind: kind, Target: target, Desired: present}
	}
	item := func(step string, kind ledger.Kind, target string) ledger.Item {
		return ledger.Item{Change: change(kind, target), Step: step}
	}
	removed := item("files", ledger.File, "/etc/removed")
	removed.Desired.Present = false
	setting := func(kind ledger.Kind, target string, names ...string) ledger.Change {
		return ledger.Change{Kind: kind, Target: target, Desired: ledger.State{Present: true, Names: names}}
	}
	arguments := ledger.Item{Step: "files", Change: setting(ledger.KernelArguments, "boot loader", "psi=0", "nosmt")}
	booleans := ledger.Item{Step: "system", Change: setting(resource.BooleansKind, "SELinux policy", "a=on")}
	settings := []ledger.Change{
		setting(ledger.KernelArguments, "boot loader", "psi=0"),
		setting(resource.BooleansKind, "SELinux policy", "a=on", "b=on"),
	}
	requested := []ledger.Change{
		change(ledger.File, "/etc/same"), change(ledger.File, "/etc/new"), change(ledger.Unit, "a.service"),
		change("account-backup", "/etc/passwd-"),
	}
	obsolete := plan.ObsoleteItems([]ledger.Item{
		item("files", ledger.File, "/etc/same"), item("files", ledger.File, "/etc/old"),
		item("files", ledger.Directory, "/etc/old.d"),
		item("system", ledger.Unit, "a.service"), item("system", ledger.Sysctl, "vm.old"),
		item("files", ledger.Contents, "/var/lib/kubelet"),
		item("network", ledger.File, "/etc/of-the-agent"), removed, arguments, booleans,
	}, slices.Concat(requested, settings))
	var keys []string
	for _, item := range obsolete {
		keys = append(keys, item.Key())
	}
	if diff := cmp.Diff([]string{"file:/etc/old", "sysctl:vm.old", "kernel arguments:boot loader"}, keys); diff != "" {
		t.Errorf("obsolete (-want +got):\n%s", diff)
	}
	if n := countUnchanged(requested, []ledger.PlannedChange{
		{Change: requested[1]},
		{Change: change(ledger.Directory, "/etc")},
	}); n != 2 {
		t.Errorf("%d unchanged, want 2", n)
	}
}
