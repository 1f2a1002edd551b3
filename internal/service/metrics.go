package service

import (
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/identity"
	"github.com/hcp-node-agent/hcp-node-agent/internal/monitor"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// metrics returns the metrics about the node.
func (w *nodeMonitor) metrics(active []monitor.Change, now time.Time) []report.Metric {
	counts := map[report.Severity]float64{}
	since := report.Metric{Name: "hcp_node_agent_finding_since_timestamp_seconds", Help: "Time at which the " +
		"finding was first seen, in seconds since 1970."}
	for _, change := range active {
		counts[change.Severity]++
		since.Samples = append(since.Samples, report.Sample{
			Labels: [][2]string{{"look", change.Check}, {"severity", string(change.Severity)}, {"about", change.Subject}}, Value: float64(change.Since.Unix()),
		})
	}
	findings := report.Metric{Name: "hcp_node_agent_findings", Help: "Number of active findings."}
	for _, severity := range []report.Severity{report.SeverityProblem, report.SeverityWarning, report.SeverityNote} {
		findings.Samples = append(findings.Samples, report.Sample{Labels: [][2]string{{"severity", string(severity)}}, Value: counts[severity]})
	}
	metrics := []report.Metric{
		{Name: "hcp_node_agent_info", Help: "Information about the agent and its node.", Samples: []report.Sample{{
			Labels: [][2]string{{"version", w.Version}, {"node", w.state.NodeName}, {"nodepool", w.state.NodePool}}, Value: 1,
		}}},
		{Name: "hcp_node_agent_last_look_timestamp_seconds", Help: "Time of the agent's last check of its node, " +
			"in seconds since 1970.", Samples: []report.Sample{{Value: float64(now.Unix())}}},
		findings, since,
	}
	if ends := identity.CertificateExpiries(identity.PKIDirectory); len(ends) > 0 {
		metric := report.Metric{Name: "hcp_node_agent_certificate_end_timestamp_seconds", Help: "Time at which a " +
			"certificate of kubelet expires, in seconds since 1970."}
		for _, end := range ends {
			metric.Samples = append(metric.Samples, report.Sample{Labels: [][2]string{{"certificate", end.Name}}, Value: float64(end.NotAfter.Unix())})
		}
		metrics = append(metrics, metric)
	}
	return metrics
}
