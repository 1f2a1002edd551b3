// SPDX-License-Identifier: Apache-2.0

package service

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/identity"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

func activeFindings() []Change {
	return []Change{
		{Since: time.Unix(1795290000, 0), Finding: report.Finding{
			Check: "node", Severity: report.SeverityProblem, Reason: report.KubeletNotRunning,
			Subject: "kubelet.service", Message: "kubelet.service is not running (failed)",
		}},
		{Since: time.Unix(1795290200, 0), Finding: report.Finding{
			Check: "node", Severity: report.SeverityWarning, Reason: report.PodNotReady, Subject: "pod a/b", Message: "pod a/b",
		}},
		{Since: time.Unix(1795290250, 0), Finding: report.Finding{
			Check: "node", Severity: report.SeverityWarning, Reason: report.PodNotReady, Subject: "pod a/c", Message: "pod a/c",
		}},
		{Since: time.Unix(1795290300, 0), Finding: report.Finding{
			Check: "drift", Severity: report.SeverityWarning, Reason: report.ConfigurationDrift,
			Subject: "drift", Message: "drift: /etc/a",
		}},
	}
}

// Metrics without findings must not be written before the checks are complete.
// After that, a repeated check must not suppress them.
func TestServiceWritesMetricsOnceChecksAreComplete(t *testing.T) {
	file := filepath.Join(t.TempDir(), "metrics.prom")
	m := &nodeMonitor{Options: Options{Metrics: file}, state: joinstate.State{NodeName: "worker-0"}}
	written := func() bool {
		err := os.Remove(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		return err == nil
	}
	for i, settled := range []bool{false, true, false} {
		m.reportStatus(t.Context(), nil, settled)
		if got, want := written(), i > 0; got != want {
			t.Errorf("tick %d: metrics written %t, want %t", i, got, want)
		}
	}
}

// After a leave, metrics of the former node must not remain. If only the service has ended,
// their age must show it.
func TestMetricsAreRemovedAfterLeave(t *testing.T) {
	joined := joinstate.State{Started: time.Unix(1, 0), Finished: time.Unix(2, 0)}
	leaving := joined
	leaving.Leaving = time.Unix(3, 0)
	for name, test := range map[string]struct {
		state   joinstate.State
		removed bool
	}{
		"service stopped": {joined, false},
		"leave started":   {leaving, true},
		"left":            {joinstate.State{}, true},
	} {
		dir := t.TempDir()
		m := &nodeMonitor{Options: Options{
			Options: request.Options{StateDir: dir},
			Metrics: filepath.Join(dir, "metrics", "a.prom"),
		}}
		if test.state.Exists() {
			flowtest.NoError(t, joinstate.Write(dir, test.state))
		}
		m.reportStatus(t.Context(), nil, true)
		removeMetricsAfterLeave(m.StateDir, m.Metrics, m.log)
		if _, err := os.Stat(m.Metrics); os.IsNotExist(err) != test.removed {
			t.Errorf("%s: metrics removed: %t, want %t", name, !test.removed, test.removed)
		}
		removeMetricsAfterLeave(m.StateDir, m.Metrics, m.log) // a missing file or directory is no error
	}
}

// exampleMonitor returns the monitor of a node with drift and both certificates.
func exampleMonitor(t *testing.T) *nodeMonitor {
	t.Helper()
	dir, drift := t.TempDir(), 2
	ca, key := certtest.NewCA(t, "signer"), certtest.NewKey(t)
	for i, path := range []string{identity.ClientCertificatePath(dir), identity.ServingCertificatePath(dir)} {
		content := ca.Issue(t, key, &x509.Certificate{NotAfter: time.Unix(1800000000+int64(i), 0)})
		flowtest.NoError(t, os.WriteFile(path, content, 0o600))
	}
	return &nodeMonitor{
		Options: Options{Version: "1.2"},
		state: joinstate.State{
			NodeName: "worker-0",
			NodePool: "clusters/demo",
			StepDurations: map[string]config.Duration{
				"preflight": config.Duration(1500 * time.Millisecond), "client-certificate": config.Duration(2 * time.Minute),
			},
		},
		drift:  driftCheck{count: &drift},
		pkiDir: dir,
	}
}

// exampleMetrics returns the metrics of a node with findings and both certificates.
func exampleMetrics(t *testing.T) string {
	t.Helper()
	var out bytes.Buffer
	flowtest.NoError(t, report.WriteMetrics(&out, exampleMonitor(t).metrics(activeFindings(), time.Unix(1795290600, 0))))
	return out.String()
}

func TestServiceMetrics(t *testing.T) {
	var got []string
	for line := range strings.Lines(exampleMetrics(t)) {
		if !strings.HasPrefix(line, "#") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	const started = "hcp_node_agent_finding_start_timestamp_seconds"
	want := []string{
		`hcp_node_agent_build_info{version="1.2",goversion="` + runtime.Version() + `"} 1`,
		`hcp_node_agent_node_info{node="worker-0",nodepool="demo"} 1`,
		`hcp_node_agent_last_check_timestamp_seconds 1795290600`,
		`hcp_node_agent_findings{check="node",severity="problem"} 1`,
		`hcp_node_agent_findings{check="node",severity="warning"} 2`,
		`hcp_node_agent_findings{check="node",severity="note"} 0`,
		`hcp_node_agent_findings{check="host",severity="problem"} 0`,
		`hcp_node_agent_findings{check="host",severity="warning"} 0`,
		`hcp_node_agent_findings{check="host",severity="note"} 0`,
		`hcp_node_agent_findings{check="drift",severity="problem"} 0`,
		`hcp_node_agent_findings{check="drift",severity="warning"} 1`,
		`hcp_node_agent_findings{check="drift",severity="note"} 0`,
		`hcp_node_agent_findings{check="certificates",severity="problem"} 0`,
		`hcp_node_agent_findings{check="certificates",severity="warning"} 0`,
		`hcp_node_agent_findings{check="certificates",severity="note"} 0`,
		`hcp_node_agent_findings{check="cluster-cas",severity="problem"} 0`,
		`hcp_node_agent_findings{check="cluster-cas",severity="warning"} 0`,
		`hcp_node_agent_findings{check="cluster-cas",severity="note"} 0`,
		`hcp_node_agent_findings{check="renewals",severity="problem"} 0`,
		`hcp_node_agent_findings{check="renewals",severity="warning"} 0`,
		`hcp_node_agent_findings{check="renewals",severity="note"} 0`,
		`hcp_node_agent_findings{check="images",severity="problem"} 0`,
		`hcp_node_agent_findings{check="images",severity="warning"} 0`,
		`hcp_node_agent_findings{check="images",severity="note"} 0`,
		`hcp_node_agent_findings{check="release",severity="problem"} 0`,
		`hcp_node_agent_findings{check="release",severity="warning"} 0`,
		`hcp_node_agent_findings{check="release",severity="note"} 0`,
		`hcp_node_agent_findings{check="updates",severity="problem"} 0`,
		`hcp_node_agent_findings{check="updates",severity="warning"} 0`,
		`hcp_node_agent_findings{check="updates",severity="note"} 0`,
		`hcp_node_agent_findings{check="rollout",severity="problem"} 0`,
		`hcp_node_agent_findings{check="rollout",severity="warning"} 0`,
		`hcp_node_agent_findings{check="rollout",severity="note"} 0`,
		`hcp_node_agent_findings{check="paths",severity="problem"} 0`,
		`hcp_node_agent_findings{check="paths",severity="warning"} 0`,
		`hcp_node_agent_findings{check="paths",severity="note"} 0`,
		started + `{check="node",severity="problem",reason="KubeletNotRunning"} 1795290000`,
		started + `{check="node",severity="warning",reason="PodNotReady"} 1795290200`,
		started + `{check="drift",severity="warning",reason="ConfigurationDrift"} 1795290300`,
		`hcp_node_agent_certificate_expiration_timestamp_seconds{certificate="client"} 1800000000`,
		`hcp_node_agent_certificate_expiration_timestamp_seconds{certificate="serving"} 1800000001`,
		`hcp_node_agent_join_duration_seconds{step="client-certificate"} 120`,
		`hcp_node_agent_join_duration_seconds{step="preflight"} 1.5`,
		`hcp_node_agent_drift_objects 2`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A host that has not joined has nothing to monitor. Retries do not change that, so
// systemd must not restart the unit.
func TestRunNeedsAJoin(t *testing.T) {
	err := Run(t.Context(), Options{Options: request.Options{StateDir: t.TempDir()}})
	if report.CodeOf(err) != report.Usage || !strings.Contains(string(report.RemedyOf(err)), "join --user-data") {
		t.Errorf("%v (%d)", err, report.CodeOf(err))
	}
}

// The service ends after a leave. After another run of the agent it repeats all checks, with the
// kubeconfig of that run.
func TestServiceHasEnded(t *testing.T) {
	dir := t.TempDir()
	joined := joinstate.State{Started: time.Unix(1, 0), Finished: time.Unix(2, 0), NodeName: "worker-0"}
	m := &nodeMonitor{
		Options: Options{Options: request.Options{StateDir: dir}}, state: joined,
		kubeconfig: filepath.Join(dir, "kubeconfig"), wake: make(chan string, 1),
	}
	writeKubeconfig := func(server string) {
		t.Helper()
		config := clientcmdapi.NewConfig()
		config.Clusters["hosted"] = &clientcmdapi.Cluster{Server: server}
		config.Contexts["kubelet"] = &clientcmdapi.Context{Cluster: "hosted"}
		config.CurrentContext = "kubelet"
		if err := clientcmd.WriteToFile(*config, m.kubeconfig); err != nil {
			t.Fatal(err)
		}
	}
	writeKubeconfig("https://api.example.com:6443")
	if err := m.openNode("boot"); err != nil {
		t.Fatal(err)
	}
	check := func(when string, over, repeated bool) {
		t.Helper()
		if got, err := m.hasEnded(); got != over || err != nil || len(m.wake) > 0 != repeated {
			t.Errorf("%s: over %t, %v; all checks repeated: %t", when, got, err, len(m.wake) > 0)
		}
		for len(m.wake) > 0 {
			<-m.wake
		}
	}
	write := func() {
		t.Helper()
		if err := joinstate.Write(dir, joined); err != nil {
			t.Fatal(err)
		}
	}
	write()
	check("unchanged", false, false)
	joined.Runs++
	write()
	check("after another run of the join", false, true)
	check("again", false, false)
	writeKubeconfig("https://api.other.example.com:6443")
	check("with another endpoint", false, true)
	if m.node.Conn.Server != "https://api.other.example.com:6443" || m.node.BootID != "boot" {
		t.Errorf("the monitor uses %s", m.node.Conn.Server)
	}
	lock, err := ledger.Open(dir, ledger.Drivers{})
	flowtest.NoError(t, err)
	flowtest.NoError(t, joinstate.WriteMaintenance(dir, joinstate.Maintenance{Started: time.Unix(3, 0)}))
	check("during a maintenance", false, false)
	if !m.isSuspended() || m.unfinished != maintenanceRun {
		t.Errorf("the checks are not suspended during %q", m.unfinished)
	}
	flowtest.NoError(t, lock.Close())
	if over, err := m.hasEnded(); !over || report.CodeOf(err) != report.Failed {
		t.Errorf("after an interrupted maintenance: over %t, %v", over, err)
	}
	flowtest.NoError(t, joinstate.RemoveFiles(dir, joinstate.MaintenanceFile))
	check("after the maintenance", false, true)
	if err := os.Remove(m.kubeconfig); err != nil {
		t.Fatal(err)
	}
	check("without kubelet's kubeconfig", false, false)
	if err := joinstate.RemoveFiles(dir, joinstate.StateFile); err != nil {
		t.Fatal(err)
	}
	check("after leave", true, false)
}

// A check that cannot be run is a finding with a remedy.
func TestFailedCheckIsAFinding(t *testing.T) {
	var changes []Change
	m := &Monitor{Timeout: time.Minute, OnChange: func(_ context.Context, all []Change) { changes = all }}
	failure := report.Fail(report.Failed, "systemctl start crio", "CRI-O does not respond: %w", context.DeadlineExceeded)
	for range confirmations {
		m.runCheck(t.Context(), Check{Name: "images", Find: func(context.Context) ([]report.Finding, error) {
			return nil, failure
		}})
	}
	want := report.Finding{
		Check: "images", Severity: report.SeverityWarning, Reason: report.CheckFailed, Subject: "failed checks",
		Message: "CRI-O does not respond: context deadline exceeded", Remedy: "systemctl start crio", Incomplete: true,
	}
	if len(changes) != 1 || !cmp.Equal(changes[0].Finding, want) {
		t.Errorf("%+v", changes)
	}
}
