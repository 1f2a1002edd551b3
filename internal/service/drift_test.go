// SPDX-License-Identifier: Apache-2.0

package service

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/status"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

// Drift must be a finding of the service and make status exit with code 8. Both
// must end when the original state is restored.
func TestDriftIsReportedByServiceAndStatus(t *testing.T) {
	dir, made := t.TempDir(), filepath.Join(t.TempDir(), "made")
	tree, err := hostfs.OpenTree("/")
	flowtest.NoError(t, err)
	defer tree.Close()
	l, err := ledger.Open(dir, (&machine.Machine{Tree: tree}).Drivers())
	flowtest.NoError(t, err)
	want := ledger.FileState([]byte("joined"), 0o600)
	uid, gid := os.Geteuid(), os.Getegid()
	want.UID, want.GID = &uid, &gid
	_, err = l.Apply(t.Context(), "files", []ledger.Change{{Kind: ledger.File, Target: made, Desired: want}})
	flowtest.NoError(t, err)
	flowtest.NoError(t, l.Close())
	var check driftCheck
	for _, step := range []struct {
		content string
		drift   bool
	}{{"joined", false}, {"changed", true}, {"joined", false}} {
		flowtest.NoError(t, os.WriteFile(made, []byte(step.content), 0o600))
		found, err := check.find(t.Context(), dir)
		if err != nil || (len(found) > 0) != step.drift {
			t.Fatalf("%q: the service reports %+v, %v", step.content, found, err)
		}
		if step.drift && (found[0].Severity != report.SeverityWarning || !strings.Contains(found[0].Message, made) ||
			found[0].Remedy == "") {
			t.Errorf("%q: the service reports %+v", step.content, found[0])
		}
		document, err := status.Get(t.Context(), dir)
		flowtest.NoError(t, err)
		err = document.Err()
		code := report.Failed // the host has not joined
		if step.drift {
			code = report.DriftFound
		}
		if report.CodeOf(err) != code || (len(document.Drift) > 0) != step.drift {
			t.Errorf("%q: status has %+v and exits with %d: %v", step.content, document.Drift, report.CodeOf(err), err)
		}
	}
	if report.DriftFound != 8 {
		t.Errorf("the documented exit code is 8, and it is %d", report.DriftFound)
	}
}
