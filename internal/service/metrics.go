// SPDX-License-Identifier: Apache-2.0

package service

import (
	"bytes"
	"context"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/identity"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// writeMetrics writes the metrics file. Readers never see a partial file.
func (m *nodeMonitor) writeMetrics(ctx context.Context, active []Change) {
	var out bytes.Buffer
	err := report.WriteMetrics(&out, m.metrics(active, time.Now()))
	if err == nil {
		err = hostfs.WriteReadable(filepath.Dir(m.Metrics), filepath.Base(m.Metrics), out.Bytes())
	}
	if err != nil && ctx.Err() == nil {
		m.log.Warn(err.Error(), "")
	}
}

// removeMetricsAfterLeave removes the metrics file if the host leaves or has left the
// cluster. Otherwise the file remains, so that its age shows that the service has ended.
func (m *nodeMonitor) removeMetricsAfterLeave() {
	if m.Metrics == "" {
		return
	}
	state, err := joinstate.Read(m.StateDir)
	if err != nil || (state.Phase() != joinstate.PhaseNone && state.Phase() != joinstate.PhaseLeaving) {
		return
	}
	tree, err := hostfs.OpenTree(filepath.Dir(m.Metrics))
	if err == nil {
		defer tree.Close()
		err = tree.Remove("/" + filepath.Base(m.Metrics))
	}
	if err != nil && !hostfs.IsNotExist(err) {
		m.log.Warn("removing the metrics: "+err.Error(), report.Remedyf("rm %s", m.Metrics))
	}
}

// metrics returns the metrics about the node. active are the confirmed findings, the most
// severe and oldest first.
func (m *nodeMonitor) metrics(active []Change, now time.Time) []report.Metric {
	metrics := []report.Metric{
		{
			Name: "hcp_node_agent_build_info",
			Help: "Constant 1. The labels contain the versions of the agent and of Go.",
			Samples: []report.Sample{{
				Labels: [][2]string{{"version", m.Version}, {"goversion", runtime.Version()}}, Value: 1,
			}},
		},
		{
			Name: "hcp_node_agent_node_info",
			Help: "Constant 1. The labels contain the names of the Node and of its NodePool.",
			Samples: []report.Sample{{
				Labels: [][2]string{{"node", m.state.NodeName}, {"nodepool", m.state.NodePool}}, Value: 1,
			}},
		},
		{
			Name:    "hcp_node_agent_last_check_timestamp_seconds",
			Help:    "Unix time of the last check of the node.",
			Samples: []report.Sample{{Value: float64(now.Unix())}},
		},
		findingCounts(active),
		findingTimes(active),
		certificateExpiries(m.pkiDir),
		m.joinDurations(),
	}
	if m.driftCount != nil {
		metrics = append(metrics, report.Metric{
			Name:    "hcp_node_agent_drift_objects",
			Help:    "Number of objects of the host, such as files and units, that differ from the joined state.",
			Samples: []report.Sample{{Value: float64(*m.driftCount)}},
		})
	}
	return metrics
}

// findingCounts counts the findings of each check and severity. Counts of 0 are included,
// because Prometheus cannot distinguish a missing sample from a failure.
func findingCounts(active []Change) report.Metric {
	metric := report.Metric{Name: "hcp_node_agent_findings", Help: "Number of active findings."}
	for _, check := range checkNames() {
		for _, severity := range []report.Severity{report.SeverityProblem, report.SeverityWarning, report.SeverityNote} {
			count := 0
			for _, change := range active {
				if change.Check == check && change.Severity == severity {
					count++
				}
			}
			metric.Samples = append(metric.Samples, report.Sample{
				Labels: [][2]string{{"check", check}, {"severity", string(severity)}}, Value: float64(count),
			})
		}
	}
	return metric
}

// findingTimes returns the start of the oldest finding of each check, severity and reason.
// The subjects of findings are not labels: there is no limit to their number.
func findingTimes(active []Change) report.Metric {
	metric := report.Metric{
		Name: "hcp_node_agent_finding_start_timestamp_seconds",
		Help: "Unix time of the first occurrence of the oldest active finding with this reason.",
	}
	seen := map[[3]string]bool{}
	for _, change := range active {
		values := [3]string{change.Check, string(change.Severity), string(change.Reason)}
		if seen[values] {
			continue
		}
		seen[values] = true
		metric.Samples = append(metric.Samples, report.Sample{
			Labels: [][2]string{{"check", values[0]}, {"severity", values[1]}, {"reason", values[2]}},
			Value:  float64(change.Since.Unix()),
		})
	}
	return metric
}

func certificateExpiries(pkiDir string) report.Metric {
	metric := report.Metric{
		Name: "hcp_node_agent_certificate_expiration_timestamp_seconds",
		Help: "Unix time at which a certificate of kubelet expires.",
	}
	for _, expiry := range identity.CertificateExpiries(pkiDir) {
		metric.Samples = append(metric.Samples, report.Sample{
			Labels: [][2]string{{"certificate", expiry.Name}}, Value: float64(expiry.NotAfter.Unix()),
		})
	}
	return metric
}

func (m *nodeMonitor) joinDurations() report.Metric {
	metric := report.Metric{
		Name: "hcp_node_agent_join_duration_seconds",
		Help: "Duration of a step in the last completed run of join.",
	}
	for _, step := range slices.Sorted(maps.Keys(m.state.StepDurations)) {
		metric.Samples = append(metric.Samples, report.Sample{
			Labels: [][2]string{{"step", step}}, Value: time.Duration(m.state.StepDurations[step]).Seconds(),
		})
	}
	return metric
}
