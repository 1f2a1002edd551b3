// SPDX-License-Identifier: Apache-2.0

package status

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/deployment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
)

func TestStatusFailsUnlessNodeIsReadyWithoutDrift(t *testing.T) {
	ready, notReady := &node.Status{Name: "worker-0", Ready: true}, &node.Status{Name: "worker-0"}
	drift := []ledger.PublishedDifference{{}}
	for name, test := range map[string]struct {
		document Document
		code     report.Code
		message  string
	}{
		"ready": {Document{Phase: joinstate.PhaseJoined, Node: ready}, report.Success, ""},
		"cordoned": {
			Document{Phase: joinstate.PhaseJoined, Node: &node.Status{Ready: true, Unschedulable: true}},
			report.Success,
			"",
		},
		"no join": {Document{Phase: joinstate.PhaseNone}, report.Failed, "has not joined"},
		"reboot needed": {
			Document{Phase: joinstate.PhaseJoining, Join: &Join{RebootNeeded: true}},
			report.RebootNeeded,
			"the host must be rebooted before the join continues",
		},
		"unfinished join": {
			Document{Phase: joinstate.PhaseJoining, Node: ready},
			report.Failed,
			"the join has not finished",
		},
		"unfinished leave": {
			Document{Phase: joinstate.PhaseLeaving, Node: ready},
			report.Failed,
			"the leave has not finished",
		},
		"unfinished upgrade": {
			Document{Phase: joinstate.PhaseUpgrading, Node: ready, Drift: drift},
			report.Failed,
			"the upgrade has not finished",
		},
		"unfinished maintenance": {
			Document{Phase: joinstate.PhaseMaintenance, Node: ready, Drift: drift},
			report.Failed,
			"the maintenance has not finished",
		},
		"Node cannot be read": {
			Document{Phase: joinstate.PhaseJoined},
			report.Failed,
			"the state of the Node is unknown",
		},
		"Node was deleted": {
			Document{Phase: joinstate.PhaseJoined, Findings: []report.Finding{node.DeletedFinding("worker-0")}},
			report.Failed,
			"Node worker-0 was deleted from the cluster",
		},
		"Node is not Ready": {
			Document{Phase: joinstate.PhaseJoined, Node: notReady},
			report.Failed,
			"Node worker-0 is not Ready",
		},
		"drift of a Node": {
			Document{Phase: joinstate.PhaseJoined, Node: ready, Drift: drift, Changes: 7},
			report.DriftFound,
			"drift: 1 of 7 items differ",
		},
		"drift of a Node NotReady": {
			Document{Phase: joinstate.PhaseJoined, Node: notReady, Drift: drift},
			report.DriftFound,
			"drift",
		},
	} {
		err := test.document.Err()
		if report.CodeOf(err) != test.code {
			t.Errorf("%s: code %d, want %d: %v", name, report.CodeOf(err), test.code, err)
		}
		if err != nil && (!strings.Contains(err.Error(), test.message) || report.RemedyOf(err) == "") {
			t.Errorf("%s: %q with remedy %q, want %q", name, err, report.RemedyOf(err), test.message)
		}
	}
}

func TestStatusListsStagedAndUnusedSoftware(t *testing.T) {
	since := time.Date(2026, 11, 24, 8, 0, 0, 0, time.UTC)
	document := Document{
		Phase: joinstate.PhaseJoined,
		Staged: newStaged(&joinstate.Staged{
			Since:    since,
			Size:     243_000_000,
			Software: &software.Contents{Release: software.Release{Major: 4, Minor: 21}},
		}),
		Unused: []UnusedSoftware{{Directory: "/usr/libexec/hcp-node-agent/software/sha256-00", Size: 57_000_000}},
	}
	var out bytes.Buffer
	document.Print(&report.Page{Writer: &out}, since.Add(3*time.Hour))
	for _, want := range []string{
		"staged          OpenShift 4.21, 243 MB, since ",
		"(3h0m ago)",
		"unused software /usr/libexec/hcp-node-agent/software/sha256-00 (57 MB)",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the status has no %q:\n%s", want, out.String())
		}
	}
}

func TestStatusListsImages(t *testing.T) {
	document := Document{Deployments: &deployment.Status{
		Booted:   deployment.Deployment{Version: "9.6.1", Digest: "sha256:0123456789abcdef", Modified: true},
		Staged:   &deployment.Deployment{Version: "9.6.2", Digest: "sha256:2345"},
		Rollback: &deployment.Deployment{Checksum: "3456"},
	}}
	var out bytes.Buffer
	document.Print(&report.Page{Writer: &out}, time.Now())
	want := `  image           9.6.1, sha256:0123456789ab, with layered packages
  next boot       9.6.2, sha256:2345
  previous image  OSTree commit 3456
`
	if !strings.Contains(out.String(), want) {
		t.Errorf("the status has no\n%s:\n%s", want, out.String())
	}
}
