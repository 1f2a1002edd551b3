// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/adapt"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/networkplugin"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest/machinetest"
)

// adoptedFiles are files of a node that others have joined.
var adoptedFiles = map[string]string{
	"etc/kubernetes/kubelet.conf":                     "payload",
	"etc/site.conf":                                   "of the site",
	"opt/cni/bin/multus":                              "plugin",
	"var/lib/kubelet/kubeconfig":                      "secret",
	"var/lib/kubelet/pki/kubelet-client-current.pem":  "secret",
	"var/lib/containers/storage/overlay-images/a/b":   "image",
	"var/lib/cni/networks/podman/10.88.0.2":           "x",
	"var/lib/hcp-node-agent-is-not-a-cluster-dir/any": "x",
}

// newAdoption returns the flow of an adoption on a host with adoptedFiles, and what it records.
func newAdoption(t *testing.T) (*Flow, plan.Adoption, string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("a network namespace needs root")
	}
	runtime.LockOSThread()
	flowtest.NoError(t, unix.Unshare(unix.CLONE_NEWNET))
	root := t.TempDir()
	flowtest.WriteTree(t, root, adoptedFiles)
	m := machinetest.Open(t, root)
	run := plan.Run{Dir: t.TempDir(), Request: request.Request{Config: config.Defaults()}}
	run.State.NodeName, run.State.Hosted = "worker-7", true
	j := NewFlow(run, m)
	j.Plan = &plan.Plan{Plan: &adapt.Plan{}}
	payload, err := ignition.LoadPayload([]byte(`{"ignition":{"version":"3.4.0"}}`))
	flowtest.NoError(t, err)
	j.Loaded.Payload = payload
	made := ledger.FileChange("/etc/kubernetes/kubelet.conf", "payload", "payload")
	kept := ledger.FileChange("/etc/site.conf", "payload", "of the site")
	mode := uint32(0o755)
	made.Desired.Mode, kept.Desired.Mode = &mode, &mode
	return j, plan.Adoption{
		Made:    map[string][]ledger.PlannedChange{"files": {{Change: made}}},
		Kept:    []joinstate.KeptObject{{Kind: ledger.File, Target: kept.Target, Reason: "unknown"}},
		Present: map[string][]ledger.Change{"files": {kept}},
	}, root
}

// An adoption changes nothing. Its records are those of a join.
func TestAdoptionIsRecordedAsAJoin(t *testing.T) {
	j, adoption, root := newAdoption(t)
	before := flowtest.ListTree(t, root)
	flowtest.NoError(t, recordAdoption(t.Context(), j, adoption))
	if state, err := joinstate.Read(j.Run.Dir); err != nil || state.Exists() {
		t.Errorf("the state exists before the end: %v", err)
	}
	records := newJoinRecord(j.Run, j.Host)
	flowtest.NoError(t, records.prepare())
	flowtest.NoError(t, finishAdoption(records))
	if diff := cmp.Diff(before, flowtest.ListTree(t, root)); diff != "" {
		t.Errorf("the host was changed (-want +got):\n%s", diff)
	}
	state, err := joinstate.Read(j.Run.Dir)
	flowtest.NoError(t, err)
	if state.Phase() != joinstate.PhaseJoined || !state.Registered || state.NodeName != "worker-7" ||
		state.LastStep != "schedulable" || !slices.Equal(state.Completed, stepNames()) {
		t.Errorf("state %+v", state)
	}
	for _, content := range []string{"edited", "of the site"} {
		flowtest.WriteTree(t, root, map[string]string{"etc/site.conf": content})
		drift, err := j.Host.Ledger.Drift(t.Context())
		if err != nil || (len(drift) > 0) != (content == "edited") {
			t.Errorf("drift with a kept file %q: %v, %v", content, drift, err)
		}
	}
	// The ledger is not void if the state is lost.
	if adopting, err := joinstate.IsAdopting(j.Run.Dir, joinstate.State{}); err != nil || adopting {
		t.Errorf("the adoption has not finished: %v", err)
	}
	// What a later join records once.
	size := j.Host.Ledger.Position()
	flowtest.NoError(t, recordPlugin(t.Context(), j.Host.Ledger, joinstate.State{}, "network"))
	if j.Host.Ledger.Position() != size {
		t.Error("a later join records the present state of the network as that before")
	}
	flowtest.NoError(t, j.Host.Ledger.Rewind(size, func(ledger.Item) bool { return true }))
	undo := func(item ledger.Item) bool { return item.Kind != networkplugin.Kind }
	result, err := j.Host.Ledger.Revert(t.Context(), undo)
	flowtest.NoError(t, err)
	if len(result.Kept) > 0 {
		t.Errorf("kept %v", result.Kept)
	}
	for name, isLeft := range map[string]bool{
		"etc/kubernetes/kubelet.conf": false, "etc/site.conf": true, "opt/cni/bin/multus": true,
		"var/lib/kubelet/kubeconfig": false, "var/lib/kubelet/pki": false, "var/lib/kubelet": true,
		"var/lib/containers/storage/overlay-images/a/b": true, "var/lib/cni/networks": false,
		"var/lib/hcp-node-agent-is-not-a-cluster-dir/any": true,
	} {
		if _, err := os.Stat(filepath.Join(root, name)); (err == nil) != isLeft {
			t.Errorf("after an undo, %s: %v", name, err)
		}
	}
}

// Nothing but the same command, or a leave, continues an interrupted adoption.
func TestInterruptedAdoption(t *testing.T) {
	j, adoption, root := newAdoption(t)
	before := flowtest.ListTree(t, root)
	flowtest.NoError(t, recordAdoption(t.Context(), j, adoption))
	_, err := prepareJoin(t.Context(), request.Options{StateDir: j.Run.Dir, Config: config.Join{UserData: "/u.ign"}})
	if report.CodeOf(err) != report.Refused ||
		report.RemedyOf(err) != "hcp-node-agent join --adopt --user-data USER_DATA # completes it\n"+
			"hcp-node-agent leave # only removes its records, and changes nothing else" {
		t.Errorf("a join: %v, remedy %q", err, report.RemedyOf(err))
	}
	adopting, err := joinstate.IsAdopting(j.Run.Dir, j.Run.State)
	if err != nil || !adopting {
		t.Errorf("adopting: %t, %v", adopting, err)
	}
	flowtest.NoError(t, j.Host.Ledger.Forget())
	flowtest.NoError(t, recordAdoption(t.Context(), j, adoption))
	flowtest.NoError(t, j.Host.Ledger.Forget())
	flowtest.NoError(t, j.Host.RemoveRecords(j.Run.Dir))
	if diff := cmp.Diff(before, flowtest.ListTree(t, root)); diff != "" {
		t.Errorf("the host was changed (-want +got):\n%s", diff)
	}
	if left, err := os.ReadDir(j.Run.Dir); err != nil || len(left) > 0 {
		t.Errorf("left in the state directory: %v, %v", left, err)
	}
}

// An adoption that fails in any step leaves no record, and the same command can be run again.
func TestFailedAdoptionLeavesNoRecord(t *testing.T) {
	j, adoption, root := newAdoption(t)
	before := flowtest.ListTree(t, root)
	record := Step{Name: "record", Run: func(ctx context.Context, j *Flow, _ report.Log) (steps.Outcome, error) {
		return steps.Outcome{}, recordAdoption(ctx, j, adoption)
	}}
	fail := Step{Name: "fail", Run: func(context.Context, *Flow, report.Log) (steps.Outcome, error) {
		return steps.Outcome{}, errors.New("no connection")
	}}
	for _, list := range [][]Step{{fail}, {record, fail}} {
		if err := j.runAdoption(t.Context(), list); err == nil || err.Error() != "fail: no connection" {
			t.Errorf("error %v", err)
		}
		if left, err := os.ReadDir(j.Run.Dir); err != nil || len(left) > 0 || len(j.Host.Ledger.Items()) > 0 {
			t.Errorf("left in the state directory: %v, %v; in the ledger: %v", left, err, j.Host.Ledger.Items())
		}
		j.Host = machinetest.Open(t, root) // the ledger was removed
		j.Run.State = joinstate.State{NodeName: "worker-7", Hosted: true}
	}
	flowtest.NoError(t, j.runAdoption(t.Context(), []Step{record}))
	if state, err := joinstate.Read(j.Run.Dir); err != nil || state.Phase() != joinstate.PhaseJoined {
		t.Errorf("phase %s, %v", state.Phase(), err)
	}
	if diff := cmp.Diff(before, flowtest.ListTree(t, root)); diff != "" {
		t.Errorf("the host was changed (-want +got):\n%s", diff)
	}
}
