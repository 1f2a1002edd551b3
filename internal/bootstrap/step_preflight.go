package bootstrap

import (
	"context"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/identity"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kubelet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/preflight"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// checkHost runs the preflight checks.
func checkHost(ctx context.Context, j *operation, log report.Log) (outcome, error) {
	// Roll back an unfinished migration of the uplink first, because the checks read
	// the network configuration.
	if err := j.bridge.Recover(ctx); err != nil {
		return outcome{}, err
	}
	j.packagesPending = true
	facts, err := j.hostFacts(ctx, log)
	if err != nil {
		return outcome{}, err
	}
	return reportFindings(preflight.Run(preflight.HostChecks(), facts), log)
}

// reportFindings logs the warnings of the checks, and fails if a finding refuses
// the join.
func reportFindings(result preflight.Result, log report.Log) (outcome, error) {
	for _, finding := range result.Findings {
		if finding.Severity == preflight.SeverityWarning {
			log.Warn(finding.Message, string(finding.Remedy))
		}
	}
	if err := result.Err(); err != nil {
		return outcome{}, err
	}
	return unchanged("%s", result.Summary())
}

// hostFacts gathers the facts for the checks that need no payload.
func (j *operation) hostFacts(ctx context.Context, log report.Log) (preflight.HostFacts, error) {
	facts := preflight.HostFacts{Host: j.facts, Systemd: j.systemdErr}
	var err error
	if j.systemd != nil {
		if facts.Units, err = preflight.GetUnits(ctx, j.systemd); err != nil {
			return facts, err
		}
	}
	if facts.Links, err = hostnet.Links(); err != nil {
		return facts, err
	}
	facts.Ports = preflight.UsedPorts(ctx)
	_, facts.NodeName = kubelet.NodeName(kubelet.NameSources{Hostname: j.facts.Hostname})
	facts.OtherCluster = j.otherCluster()
	facts.Uplink = j.checkUplink(ctx)
	if j.inputs.userData != nil && j.state.PayloadDigest == "" {
		probe, err := j.fetcher(log).Probe(ctx, j.inputs.userData)
		facts.Endpoint, facts.ClockSkew = err, probe.Skew
		if probe.Temporary != nil {
			log.Note(probe.Temporary.Error() + "; the fetch step goes on asking")
		}
	}
	return facts, nil
}

// checkUplink returns an error if br-ex does not exist and cannot be created.
func (j *operation) checkUplink(ctx context.Context) error {
	if j.nm == nil {
		return nil // the check for NetworkManager reports this
	}
	if j.packagesPending && j.lacksOpenVSwitch(ctx) {
		j.uplinkUnchecked = true
		return nil // the packages step reports this, or installs the package and checks again
	}
	_, err := j.planMigration(ctx)
	return err
}

// otherCluster fails if kubelet on this host belongs to a cluster that the agent
// did not join.
func (j *operation) otherCluster() error {
	if j.state.LastStep != "" {
		return nil // the identity step compares cluster and name
	}
	content, _, err := j.tree.ReadFile(identity.KubeconfigPath)
	if err != nil {
		return nil //nolint:nilerr // there is none
	}
	server := "a cluster that its kubeconfig does not name"
	if cluster, err := kube.ParseCluster(content); err == nil {
		server = cluster.Server
	}
	return report.Fail(report.Refused,
		"# to leave that cluster, before the next join:\nsystemctl disable --now kubelet\nmv /var/lib/kubelet /var/lib/kubelet.old",
		"this host already is a node of %s (%s)", server, identity.KubeconfigPath)
}
