// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/identity"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node/servicelog"
	"github.com/hcp-node-agent/hcp-node-agent/internal/preflight"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
)

func TestDoctorReportsARequestToAStandaloneCluster(t *testing.T) {
	pending := identity.PendingCSR{Name: "node-csr-x", Phase: "pending", Since: time.Unix(0, 0)}
	standalone := joinstate.State{Started: time.Unix(1, 0)}.Topology()
	got := requestFinding(pending, nil, standalone, time.Unix(7200, 0))
	if !strings.Contains(got.Message, "this host has no Machine object, so no controller approves it") ||
		!strings.Contains(string(got.Remedy), "approve node-csr-x # on the cluster; then") {
		t.Errorf("%+v", got)
	}
}

func TestDoctorReportsTheRequest(t *testing.T) {
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	const csr = "client CSR node-csr-x (key SHA256:00)"
	for phase, want := range map[string]string{
		"pending": "problem: " + csr +
			" has been waiting for approval for 3h5m; on platform None no controller approves it => oc adm certificate " +
			"approve node-csr-x # on the hosted cluster; then: hcp-node-agent join",
		"approved": "problem: " + csr +
			" was submitted 3h5m ago and is approved, but no certificate has been issued => # check the csrsigning " +
			"controller in the hosted control plane's kube-controller-manager",
		"issued": "problem: " + "a certificate was issued for " + csr +
			", but is not on this host yet => hcp-node-agent join # downloads the certificate",
		"absent": "problem: " + csr +
			" does not exist in the cluster: it was deleted manually, or automatically after a day without approval => " +
			"hcp-node-agent join # submits the CSR again",
		"denied": "problem: " + csr +
			" is denied (why) => oc get csr node-csr-x -o yaml # shows the cause; hcp-node-agent join submits a new CSR " +
			"with a new key",
		"": "warning: " + "the status of " + csr + " is unknown: no way => look",
	} {
		pending := identity.PendingCSR{
			Name: "node-csr-x", Fingerprint: "SHA256:00", Phase: phase, Detail: "why", Since: now.Add(-185 * time.Minute),
		}
		failure := report.Fail(report.Failed, "look", "no way")
		got := requestFinding(pending, failure, identity.ClusterTopology{}, now)
		checkFindings(t, []string{want}, []report.Finding{got})
	}
}

func TestDoctorReportsJournalAndNode(t *testing.T) {
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	checkFindings(t, []string{"ok: no error since the boot in the last log lines of kubelet and CRI-O"},
		journalFindings(nil, nil, now))
	checkFindings(t, []string{
		"note: the last error of kubelet occurred 2m ago: it broke => journalctl -b -u kubelet",
		"ok: no error since the boot in the last log lines of CRI-O",
	}, journalFindings(&servicelog.Error{Time: now.Add(-2 * time.Minute), Text: "it broke"}, nil, now))

	checkFindings(t, []string{"ok: Node worker-7 is Ready and schedulable"},
		evaluateNode("worker-7", nil, time.Time{}, now))
	checkFindings(t, []string{"ok: Node worker-7 is Ready and schedulable; kubelet's last report was 35s ago"},
		evaluateNode("worker-7", nil, now.Add(-35*time.Second), now))
	checkFindings(t, []string{
		"problem: no network => journalctl",
		"warning: the disk fills",
		"note: cordoned",
	}, evaluateNode("worker-7", []report.Finding{
		{Severity: report.SeverityProblem, Message: "no network", Remedy: "journalctl"},
		{Severity: report.SeverityWarning, Message: "the disk fills"},
		{Severity: report.SeverityNote, Message: "cordoned"},
	}, time.Time{}, now))
}

func TestDoctorReportsChecksAndExitCodes(t *testing.T) {
	refusing := resultFindings(preflight.Result{Checked: 3, Findings: []report.Finding{
		{Check: "a", Severity: report.SeverityProblem, Message: "no", Remedy: "mend", RefusesJoin: true},
		{Check: "b", Severity: report.SeverityWarning, Message: "hm"},
		{Check: "c", Severity: report.SeverityProblem, Message: "old", Remedy: "reboot", RefusesJoin: true},
	}})
	checkFindings(t, []string{"refuses, problem: no => mend", "warning: hm", "refuses, problem: old => reboot"}, refusing)
	warning := resultFindings(
		preflight.Result{
			Checked:  3,
			Findings: []report.Finding{{Check: "b", Severity: report.SeverityWarning, Message: "hm"}},
		},
	)
	checkFindings(t, []string{"ok: 3 checks, 1 warning", "warning: hm"}, warning)
	ended, err := refusalFinding(report.Fail(report.Refused, "mend", "no name"))
	if checkFindings(t, []string{"refuses, problem: no name => mend"}, ended); err != nil {
		t.Error(err)
	}
	if ended, err = refusalFinding(os.ErrPermission); len(ended) > 0 || err == nil {
		t.Errorf("%+v, %v", ended, err)
	}
	hindering := []report.Finding{{Severity: report.SeverityProblem, Message: "now"}}
	for want, findings := range map[report.Code][]report.Finding{
		report.Success: warning,
		report.Refused: slices.Concat(warning, refusing),
		report.Failed:  slices.Concat(refusing, hindering),
	} {
		if code := report.CodeOf(Report{Findings: findings}.Err()); code != want {
			t.Errorf("code %d, want %d", code, want)
		}
	}
}

// Findings are sorted by severity, duplicates are removed, and texts of other
// programs are escaped.

// A section that fails, times out or lacks permission reports that and does not
// affect others.
func TestDoctorSectionsAreIndependent(t *testing.T) {
	d := &diagnostics{}
	forever := make(chan struct{})
	t.Cleanup(func() { close(forever) }) // after the last test case
	found := func() []report.Finding { return []report.Finding{{Severity: report.SeverityOK, Message: "half of it"}} }
	for name, test := range map[string]struct {
		check func(context.Context, *diagnostics) ([]report.Finding, error)
		want  []string
	}{
		"well": {
			func(context.Context, *diagnostics) ([]report.Finding, error) { return found(), nil },
			[]string{"ok: half of it"},
		},
		"fails": {func(context.Context, *diagnostics) ([]report.Finding, error) {
			return found(), report.Fail(report.Failed, "mend", "broken")
		}, []string{"ok: half of it", "warning: the check failed: broken => mend"}},
		"hangs": {func(context.Context, *diagnostics) ([]report.Finding, error) { <-forever; return nil, nil }, []string{
			"warning: the check took longer than 10ms and was stopped",
		}},
		"waits": {func(ctx context.Context, _ *diagnostics) ([]report.Finding, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, []string{"warning: the check failed: context canceled"}},
		"may not": {
			func(context.Context, *diagnostics) ([]report.Finding, error) { return nil, os.ErrPermission },
			[]string{"note: root is required: permission denied => sudo hcp-node-agent doctor"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			limit := time.Hour // a busy machine can be slow
			switch name {
			case "hangs":
				limit = 10 * time.Millisecond
			case "waits":
				cancel()
			}
			findings := section{name: "x", timeout: limit, check: test.check}.run(ctx, d)
			checkFindings(t, test.want, findings)
			for _, finding := range findings {
				if finding.Check != "x" {
					t.Errorf("it is of part %q", finding.Check)
				}
			}
		})
	}
}

// The diagnostics must complete on any machine that runs the tests, and must create
// nothing.
func TestDoctorRunsOnThisHost(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	examined := func() Report {
		document, err := Run(t.Context(), request.Options{Config: config.Defaults(), StateDir: dir})
		if err != nil {
			t.Fatal(err)
		}
		return document
	}
	document := examined()
	has := func(part, text string) bool {
		return slices.ContainsFunc(document.Findings,
			func(f report.Finding) bool { return f.Check == part && strings.Contains(f.Message, text) })
	}
	if document.Phase != "none" || !has("join", "has not joined") || !has("validate", "were skipped") ||
		!has("host", "ignition server was not checked") || document.ExitCode != report.CodeOf(document.Err()) {
		t.Errorf("%+v", document)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("it made the state directory")
	}
	// If the state cannot be read, everything else is still inspected.
	if err := errors.Join(os.Mkdir(dir, 0o700),
		os.WriteFile(filepath.Join(dir, joinstate.StateFile), []byte("{"), 0o600),
		os.WriteFile(filepath.Join(dir, "ledger.log"), []byte("damaged\nledger\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	document = examined()
	if document.Phase != "unknown" || !has("join", "unexpected end of JSON") ||
		!has("leftovers", "reading the ledger") || !has("validate", "were skipped") || document.ExitCode != report.Failed {
		t.Errorf("%+v", document)
	}
}

func TestDoctorText(t *testing.T) {
	document := Report{
		TypeMeta: report.Meta("DoctorReport"), Hostname: "worker-7", Phase: "joined",
		Findings: []report.Finding{
			{
				Check:    "units",
				Severity: report.SeverityProblem,
				Message:  "kubelet.service is not running (inactive)",
				Remedy:   "systemctl start kubelet",
			},
			{Check: "certificates", Severity: report.SeverityWarning, Message: "two lines\nof text", Remedy: "first\nsecond"},
			{Check: "journal", Severity: report.SeverityWarning, Message: "another"},
			{Check: "host", Severity: report.SeverityOK, Message: "18 checks"},
		},
	}
	const want = `  problem  units                kubelet.service is not running (inactive)
# remedy:
systemctl start kubelet
  warning  certificates         two lines
                                of text
# remedy:
first
second
  warning  journal              another
  ok       host                 18 checks
worker-7: 1 problem, 2 warnings
`
	var out bytes.Buffer
	document.Print(&report.Page{Writer: &out})
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	out.Reset()
	Report{Findings: document.Findings[3:]}.Print(&report.Page{Writer: &out})
	if out.String() != "  ok       host                 18 checks\nthis host: no problems found\n" {
		t.Errorf("%q", out.String())
	}
	encoded, err := json.Marshal(document)
	if err != nil || !strings.Contains(string(encoded), `"kind":"DoctorReport"`) ||
		!strings.Contains(string(encoded), `"check":"units","severity":"problem"`) {
		t.Errorf("%s, %v", encoded, err)
	}
}
