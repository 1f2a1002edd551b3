// SPDX-License-Identifier: Apache-2.0

package leave

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/networkplugin"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs/migrate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest/machinetest"
)

// The ledger of an adopted host does not contain the credentials and the network configuration of the cluster. A leave
// removes them, unless it has kept them before, and lists what it keeps.
func TestLeaveOfAdoptedHost(t *testing.T) {
	root := t.TempDir()
	flowtest.WriteTree(t, root, map[string]string{
		"etc/kubernetes/kubeconfig": "secret", "etc/kubernetes/kubelet.conf": "edited", "etc/site.conf": "x",
		"etc/kubernetes/cni/net.d/10-ovn-kubernetes.conf": "{}",
	})
	f := &Flow{Machine: machinetest.Open(t, root), Adoption: &joinstate.AdoptionRecord{Kept: []joinstate.KeptObject{
		{Kind: ledger.File, Target: "/etc/site.conf", Reason: "unknown", Package: "site"},
		{Kind: "bridge", Target: "br-ex", Reason: "network"},
	}}}
	document := Document{}
	// An interrupted leave has kept the file, which was edited.
	edited := ledger.FileChange("/etc/kubernetes/kubelet.conf", "payload", "payload")
	flowtest.NoError(t, f.Machine.Ledger.RecordMade("files", []ledger.PlannedChange{{Change: edited}}))
	_, err := f.Machine.Ledger.Undo(t.Context())
	flowtest.NoError(t, err)
	var logged flowtest.Events
	outcome, err := removeClusterFiles(&document)(t.Context(), f, report.Log{Sink: &logged})
	flowtest.NoError(t, err)
	if !outcome.Changed {
		t.Errorf("outcome %+v", outcome)
	}
	want := []string{"/etc/kubernetes/cni/net.d/10-ovn-kubernetes.conf", "/etc/kubernetes/kubeconfig"}
	slices.Sort(document.Removed)
	if diff := cmp.Diff(want, document.Removed); diff != "" {
		t.Errorf("removed (-want +got):\n%s", diff)
	}
	kept := []KeptItem{
		{
			Kind: ledger.File, Target: "/etc/site.conf", Reason: "unknown", Now: ledger.State{Present: true},
			Remedy: "# to restore the file of the package, move /etc/site.conf to another directory, then: dnf reinstall site",
		},
		{Kind: "bridge", Target: "br-ex", Reason: "network", Now: ledger.State{Present: true}},
	}
	if diff := cmp.Diff(kept, document.Kept); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	for _, name := range []string{"/etc/site.conf", "/etc/kubernetes/kubelet.conf"} {
		if exists, err := f.Machine.Tree.Exists(name); err != nil || !exists {
			t.Errorf("%s: %t, %v", name, exists, err)
		}
	}
}

// A leave keeps objects without a known earlier state as they are. Those that the agent has changed since get the state
// that they had at the adoption. The preview lists all of them as kept.
func TestLeaveKeepsAdoptedObjects(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	record := joinstate.AdoptionRecord{Finished: true}
	contents := map[string]string{"unchanged": "adopted", "edited": "mine", "upgraded": "adopted", "repaired": "adopted"}
	var present []ledger.Change
	content := map[string]string{}
	for name := range contents {
		file := filepath.Join(root, name)
		content[file] = contents[name]
		flowtest.WriteTree(t, root, map[string]string{name: "adopted"})
		record.Kept = append(record.Kept, joinstate.KeptObject{Kind: ledger.File, Target: file, Reason: "unknown"})
		present = append(present, fileOf(file, "adopted"))
	}
	flowtest.NoError(t, record.Save(dir))
	m := openHost(t, dir)
	flowtest.NoError(t, m.Ledger.RecordPresent(t.Context(), "files", present))
	flowtest.WriteTree(t, root, map[string]string{"edited": "mine", "repaired": "mine"})
	_, err := m.Ledger.Apply(t.Context(), "files", []ledger.Change{
		fileOf(filepath.Join(root, "upgraded"), "next"), fileOf(filepath.Join(root, "repaired"), "adopted"),
	})
	flowtest.NoError(t, err)
	flowtest.NoError(t, m.Ledger.Close())

	preview, err := Preview(t.Context(), Options{Options: request.Options{StateDir: dir}})
	flowtest.NoError(t, err)
	upgraded := Change{Kind: ledger.File, Target: filepath.Join(root, "upgraded"), Step: "files", Action: Restore}
	if diff := cmp.Diff([]Change{upgraded}, preview.Changes); diff != "" || len(preview.Kept) != len(record.Kept) {
		t.Errorf("preview: kept %+v, changes (-want +got):\n%s", preview.Kept, diff)
	}
	if len(preview.Drift) != 1 || preview.Drift[0].Target != filepath.Join(root, "edited") {
		t.Errorf("preview: drift %+v", preview.Drift)
	}

	f := &Flow{Machine: openHost(t, dir), Dir: dir, Adoption: &record}
	document := Document{}
	_, err = undoStep(&document)(t.Context(), f, report.Log{})
	flowtest.NoError(t, err)
	if document.Restored != 1 || len(document.Kept) > 0 || len(f.Machine.Ledger.Items()) > 0 {
		t.Errorf("undo: %+v, in the ledger: %v", document, f.Machine.Ledger.Items())
	}
	for file, want := range content {
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("%s has the content %q, %v; want %q", file, got, err, want)
		}
	}
}

// fileOf returns the change of a file of the test's user.
func fileOf(path, content string) ledger.Change {
	change := ledger.FileChange(path, "payload", content)
	change.Desired.Mode, change.Desired.UID, change.Desired.GID = nil, nil, nil
	return change
}

// openHost opens this host with a ledger in dir.
func openHost(t *testing.T, dir string) *machine.Machine {
	t.Helper()
	tree, err := hostfs.OpenTree("/")
	flowtest.NoError(t, err)
	t.Cleanup(func() { _ = tree.Close() })
	m := &machine.Machine{Tree: tree, Bridge: &migrate.Driver{Tree: tree}, Plugin: &networkplugin.Driver{}}
	m.Ledger, err = ledger.Open(dir, m.Drivers())
	flowtest.NoError(t, err)
	t.Cleanup(func() { _ = m.Ledger.Close() })
	return m
}

// The leave of an adoption that has not finished changes nothing but the records.
func TestLeaveOfUnfinishedAdoption(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	flowtest.WriteTree(t, root, map[string]string{"etc/kubernetes/kubelet.conf": "payload"})
	before := flowtest.ListTree(t, root)
	m := machinetest.Open(t, root)
	flowtest.NoError(t, joinstate.AdoptionRecord{}.Save(dir))
	change := ledger.FileChange("/etc/kubernetes/kubelet.conf", "payload", "payload")
	flowtest.NoError(t, m.Ledger.RecordMade("files", []ledger.PlannedChange{{Change: change}}))
	flowtest.NoError(t, discardAdoption(m, dir, report.Log{}))
	if diff := cmp.Diff(before, flowtest.ListTree(t, root)); diff != "" {
		t.Errorf("the host was changed (-want +got):\n%s", diff)
	}
	if record, err := joinstate.LoadAdoption(dir); record != nil || err != nil {
		t.Errorf("record %v, %v", record, err)
	}
}

// A node without any record is not stopped.
func TestLeaveOfForeignNode(t *testing.T) {
	running := systemd.UnitState{Load: "loaded", Active: "active"}
	stopped := systemd.UnitState{Load: "loaded", Active: "inactive"}
	joined := joinstate.State{Started: time.Now()}
	for name, test := range map[string]struct {
		state  joinstate.State
		items  []ledger.Item
		unit   systemd.UnitState
		refuse bool
	}{
		"node of others":      {unit: running, refuse: true},
		"crashing kubelet":    {unit: systemd.UnitState{Load: "loaded", Active: "activating"}, refuse: true},
		"no kubelet":          {unit: systemd.UnitState{Load: "not-found", Active: "inactive"}},
		"stopped kubelet":     {unit: stopped},
		"joined":              {state: joined, unit: running},
		"changes of the host": {items: []ledger.Item{{}}, unit: running},
	} {
		if err := checkNotForeign(test.state, test.items, test.unit); (report.CodeOf(err) == report.Refused) != test.refuse {
			t.Errorf("%s: %v", name, err)
		}
	}
}
