// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/adapt"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func TestDifferences(t *testing.T) {
	file := func(path, content string, owner int) ledger.Change {
		change := ledger.FileChange(path, "", content)
		change.Desired.UID = &owner
		return change
	}
	unit := func(name, enabled string) ledger.Change {
		return ledger.Change{Kind: ledger.Unit, Target: name, Desired: ledger.State{Present: true, Enabled: enabled}}
	}
	old := &Plan{
		Plan: &adapt.Plan{
			Files: []ledger.Change{
				file("/etc/same", "a", 0), file("/etc/other", "a", 0), file("/etc/owned", "a", 0), file("/etc/gone", "a", 0),
			},
			Units: []ledger.Change{unit("crio.service", "enabled")},
		},
		Migration: &ovs.Migration{Uplink: "eth0", AlreadyAttached: true},
	}
	changed := &Plan{
		Plan: &adapt.Plan{
			Files:   []ledger.Change{file("/etc/same", "a", 0), file("/etc/other", "bb", 0), file("/etc/owned", "a", 1000)},
			Units:   []ledger.Change{unit("crio.service", "enabled")},
			Kubelet: []ledger.Change{unit("kubelet.service", "enabled")},
		},
		Migration: &ovs.Migration{Uplink: "eth1", AlreadyAttached: true},
	}
	want := []string{
		"file:/etc/other will be 2 bytes, sha256 3b64db95cb55, mode 0644",
		"unit:kubelet.service will be enabled",
		"file:/etc/gone will no longer be changed",
		"br-ex already exists with uplink eth1: nothing to do",
	}
	if diff := cmp.Diff(want, changed.Differences(old)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if lines := old.Differences(old); len(lines) > 0 {
		t.Errorf("a plan differs from itself: %v", lines)
	}
	old.Migration = nil
	if lines := changed.Differences(old); len(lines) != 3 {
		t.Errorf("a migration that was not planned before is not a difference: %v", lines)
	}
}

// The payload of a host that has joined no longer contains the bootstrap kubeconfig, which names
// the cluster.
func TestRecordInKeepsTheCluster(t *testing.T) {
	state := joinstate.State{NodeName: "old", APIServer: "https://api:6443", APIServerCA: []byte("CA")}
	(&Plan{NodeName: "worker-7"}).RecordIn(&state)
	if state.NodeName != "worker-7" || state.APIServer != "https://api:6443" || string(state.APIServerCA) != "CA" {
		t.Errorf("%+v", state)
	}
	(&Plan{NodeName: "worker-7", Cluster: kube.Cluster{Server: "https://other:6443", CA: []byte("new")}}).RecordIn(&state)
	if state.APIServer != "https://other:6443" || string(state.APIServerCA) != "new" {
		t.Errorf("%+v", state)
	}
}

// A run that a person awaits retries a rejected token for as long as a restarted ignition server generates payloads, of
// ten NodePools with 12 s each.
func TestFetcherLimitsRetriesOfAttendedRun(t *testing.T) {
	for _, isAttended := range []bool{false, true} {
		run := &Run{Attended: isAttended}
		limit := run.Fetcher(report.Log{}).TokenRetryTimeout
		if (limit > 0) != isAttended || isAttended && limit < 10*12*time.Second {
			t.Errorf("attended %t: the limit is %s", isAttended, limit)
		}
	}
}
