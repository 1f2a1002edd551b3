// SPDX-License-Identifier: Apache-2.0

package service

import (
	"bytes"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/identity"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// writeMetrics writes the metrics file. Readers never see a partial file.
func writeMetrics(path string, metrics []report.Metric) error {
	var out bytes.Buffer
	if err := report.WriteMetrics(&out, metrics); err != nil {
		return err
	}
	if err := hostfs.CheckReplaceable(path); err != nil {
		return err
	}
	return hostfs.WriteReadable(filepath.Dir(path), filepath.Base(path), out.Bytes())
}

// removeMetricsAfterLeave removes the metrics file if the host leaves or has left the
// cluster. Otherwise the file remains, so that its age shows that the service has ended.
func removeMetricsAfterLeave(stateDir, path string, log report.Log) {
	if path == "" {
		return
	}
	state, err := joinstate.Read(stateDir)
	if err != nil || (state.Phase() != joinstate.PhaseNone && state.Phase() != joinstate.PhaseLeaving) {
		return
	}
	if hostfs.CheckReplaceable(path) != nil {
		return // the agent has not written it
	}
	tree, err := hostfs.OpenTree(filepath.Dir(path))
	if err == nil {
		defer tree.Close()
		err = tree.Remove("/" + filepath.Base(path))
	}
	if err != nil && !hostfs.IsNotExist(err) {
		log.Warn("removing the metrics: "+err.Error(), report.Remedyf("rm %s", path))
	}
}

// metrics returns the metrics about the node. active are the confirmed findings, the most
// severe and oldest first.
func (m *nodeMonitor) metrics(active []Change, now time.Time) []report.Metric {
	var certificates, durations, drift []report.Sample
	for _, expiry := range identity.CertificateExpiries(m.pkiDir) {
		certificates = append(certificates, sample(expiry.NotAfter.Unix(), "certificate", expiry.Name))
	}
	for _, step := range slices.Sorted(maps.Keys(m.state.StepDurations)) {
		durations = append(durations, sample(time.Duration(m.state.StepDurations[step]).Seconds(), "step", step))
	}
	if m.drift.count != nil {
		drift = append(drift, sample(*m.drift.count))
	}
	_, nodePool, _ := strings.Cut(m.state.NodePool, "/") // without its namespace, as in the metrics of the controller
	metric := func(name, help string, samples ...report.Sample) report.Metric {
		return report.Metric{Name: name, Help: help, Samples: samples}
	}
	return []report.Metric{
		metric("hcp_node_agent_build_info", "Constant 1. The labels contain the versions of the agent and of Go.",
			sample(1, "version", m.Version, "goversion", runtime.Version())),
		metric("hcp_node_agent_node_info", "Constant 1. The labels contain the names of the Node and of its NodePool.",
			sample(1, "node", m.state.NodeName, "nodepool", nodePool)),
		metric("hcp_node_agent_last_check_timestamp_seconds", "Unix time of the last check of the node.",
			sample(now.Unix())),
		metric("hcp_node_agent_findings", "Number of active findings.", findingCounts(m.checks(), active)...),
		metric("hcp_node_agent_finding_start_timestamp_seconds",
			"Unix time of the first occurrence of the oldest active finding with this reason.", findingTimes(active)...),
		metric("hcp_node_agent_certificate_expiration_timestamp_seconds",
			"Unix time at which a certificate of kubelet expires.", certificates...),
		metric("hcp_node_agent_join_duration_seconds", "Duration of a step in the last completed run of join.",
			durations...),
		metric("hcp_node_agent_drift_objects",
			"Number of objects of the host, such as files and units, that differ from the joined state.", drift...),
	}
}

// sample returns a sample with labels, of which each is a name and a value.
func sample[T int | int64 | float64](value T, labels ...string) report.Sample {
	s := report.Sample{Value: float64(value)}
	for pair := range slices.Chunk(labels, 2) {
		s.Labels = append(s.Labels, [2]string(pair))
	}
	return s
}

// findingCounts counts the findings of each check and severity. Counts of 0 are included,
// because Prometheus cannot distinguish a missing sample from a failure.
func findingCounts(checks []Check, active []Change) []report.Sample {
	counts := map[[2]string]int{}
	for _, change := range active {
		counts[[2]string{change.Check, string(change.Severity)}]++
	}
	var samples []report.Sample
	for _, check := range checks {
		for _, severity := range []report.Severity{report.SeverityProblem, report.SeverityWarning, report.SeverityNote} {
			count := counts[[2]string{check.Name, string(severity)}]
			samples = append(samples, sample(count, "check", check.Name, "severity", string(severity)))
		}
	}
	return samples
}

// findingTimes returns the start of the oldest finding of each check, severity and reason.
// The subjects of findings are not labels: there is no limit to their number.
func findingTimes(active []Change) []report.Sample {
	var samples []report.Sample
	seen := map[[3]string]bool{}
	for _, change := range active {
		values := [3]string{change.Check, string(change.Severity), string(change.Reason)}
		if !seen[values] {
			seen[values] = true
			samples = append(samples, sample(change.Since.Unix(),
				"check", values[0], "severity", values[1], "reason", values[2]))
		}
	}
	return samples
}
