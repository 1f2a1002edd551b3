package service

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/inputs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/monitor"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func activeFindings() []monitor.Change {
	return []monitor.Change{
		{Since: time.Unix(1795290000, 0), Finding: report.Finding{
			Check: "node", Severity: report.SeverityProblem, Subject: "kubelet", Message: "kubelet.service does not run (failed)",
		}},
		{Since: time.Unix(1795290300, 0), Finding: report.Finding{
			Check: "host", Severity: report.SeverityWarning, Subject: "drift", Message: "drift: /etc/a",
		}},
	}
}

func TestServiceStatus(t *testing.T) {
	for want, test := range map[string]struct {
		all     []monitor.Change
		settled bool
	}{
		"worker-0 is Ready and schedulable":     {nil, true},
		"checking worker-0":                     {nil, false},
		"kubelet.service does not run (failed)": {activeFindings()[:1], false},
		"kubelet.service does not run (failed) (and 1 more; see: hcp-node-agent doctor)": {activeFindings(), true},
	} {
		if got := statusLine("worker-0", test.all, test.settled); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Metrics without findings must not be written before the checks are complete.
// After that, a repeated check must not suppress them.
func TestServiceWritesMetricsOnceChecksAreComplete(t *testing.T) {
	file := filepath.Join(t.TempDir(), "metrics.prom")
	w := &nodeMonitor{Options: Options{Metrics: file}, state: joinstate.State{NodeName: "worker-0"}}
	written := func() bool {
		err := os.Remove(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		return err == nil
	}
	for i, settled := range []bool{false, true, false} {
		w.reportStatus(t.Context(), nil, settled)
		if got, want := written(), i > 0; got != want {
			t.Errorf("beat %d: metrics written %t, want %t", i, got, want)
		}
	}
}

func TestServiceMetrics(t *testing.T) {
	w := &nodeMonitor{Options: Options{Version: "1.2"}, state: joinstate.State{NodeName: "worker-0", NodePool: "clusters/demo"}}
	var out bytes.Buffer
	if err := report.WriteMetrics(&out, w.metrics(activeFindings(), time.Unix(1795290600, 0))); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		// A build machine has no kubelet certificates.
		if !strings.HasPrefix(line, "#") && !strings.Contains(line, "certificate_end") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	want := []string{
		`hcp_node_agent_info{version="1.2",node="worker-0",nodepool="clusters/demo"} 1`,
		`hcp_node_agent_last_look_timestamp_seconds 1795290600`,
		`hcp_node_agent_findings{severity="problem"} 1`,
		`hcp_node_agent_findings{severity="warning"} 1`,
		`hcp_node_agent_findings{severity="note"} 0`,
		`hcp_node_agent_finding_since_timestamp_seconds{look="node",severity="problem",about="kubelet"} 1795290000`,
		`hcp_node_agent_finding_since_timestamp_seconds{look="host",severity="warning",about="drift"} 1795290300`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A host that has not joined has nothing to monitor. Retries do not change that, so
// systemd must not restart the unit.
func TestRunNeedsAJoin(t *testing.T) {
	err := Run(t.Context(), Options{Options: inputs.Options{StateDir: t.TempDir()}})
	if report.CodeOf(err) != report.Usage || !strings.Contains(string(report.RemedyOf(err)), "join --user-data") {
		t.Errorf("%v (%d)", err, report.CodeOf(err))
	}
}

// The service ends after a leave, and starts over after a join to another cluster.
func TestServiceHasEnded(t *testing.T) {
	dir := t.TempDir()
	joined := joinstate.State{Started: time.Unix(1, 0), Finished: time.Unix(2, 0), NodeName: "worker-0", APIServer: "https://api.example.com:6443"}
	w := &nodeMonitor{Options: Options{Options: inputs.Options{StateDir: dir}}, state: joined}
	check := func(when string, over, failed bool) {
		t.Helper()
		if got, err := w.hasEnded(); got != over || (err != nil) != failed {
			t.Errorf("%s: over %t, %v", when, got, err)
		}
	}
	write := func(state joinstate.State) {
		t.Helper()
		if err := joinstate.Write(dir, state); err != nil {
			t.Fatal(err)
		}
	}
	write(joined)
	check("as it was", false, false)
	joined.LastStep = "ready"
	write(joined)
	check("after another run of the join", false, false)
	w.kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	w.kubeconfigContent = []byte("with an authority")
	check("while kubelet's kubeconfig is not there", false, false)
	for content, over := range map[string]bool{"with an authority": false, "with two": true} {
		if err := os.WriteFile(w.kubeconfig, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		check("with kubelet's kubeconfig "+content, over, over)
	}
	w.kubeconfigContent = []byte("with two")
	if err := os.Remove(w.kubeconfig); err != nil {
		t.Fatal(err)
	}
	joined.APIServer = "https://other.example.com:6443"
	write(joined)
	check("after a join to another cluster", true, true)
	if err := joinstate.RemoveFiles(dir, joinstate.StateFile); err != nil {
		t.Fatal(err)
	}
	check("after leave", true, false)
}

// A check that cannot be run is a finding with a remedy.
func TestFailedCheckFinding(t *testing.T) {
	f := failedCheckFinding(report.Fail(report.Failed, "systemctl start crio", "CRI-O does not answer: %w", context.DeadlineExceeded))
	if f.Severity != report.SeverityWarning || f.Message != "CRI-O does not answer: context deadline exceeded" || f.Remedy != "systemctl start crio" || f.Subject == "" {
		t.Errorf("%+v", f)
	}
}
