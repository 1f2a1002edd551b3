package bootstrap

import (
	"context"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kubelet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/preflight"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// checkHost runs the preflight checks.
func checkHost(ctx context.Context, j *join, log report.Log) (outcome, error) {
	// Roll back an unfinished migration of the uplink first, because the checks read
	// the network configuration.
	if err := j.bridge.Recover(ctx); err != nil {
		return outcome{}, err
	}
	j.before = true
	facts, err := j.hostFacts(ctx, log)
	if err != nil {
		return outcome{}, err
	}
	return tell(preflight.Run(preflight.Host(), facts), log)
}

// tell logs the warnings of the checks, and fails if a finding refuses
// the join.
func tell(result preflight.Result, log report.Log) (outcome, error) {
	for _, finding := range result.Findings {
		if finding.Severity == preflight.Warning {
			log.Warn(finding.Message, string(finding.Remedy))
		}
	}
	if err := result.Err(); err != nil {
		return outcome{}, err
	}
	return same("%s", result.Summary())
}

// hostFacts gathers the facts for the checks that need no payload.
func (j *join) hostFacts(ctx context.Context, log report.Log) (preflight.HostFacts, error) {
	facts := preflight.HostFacts{Host: j.facts, Systemd: j.noBus}
	var err error
	if j.systemd != nil {
		if facts.Units, err = preflight.LookUnits(ctx, j.systemd); err != nil {
			return facts, err
		}
	}
	if facts.Links, err = host.Links(); err != nil {
		return facts, err
	}
	facts.Ports = preflight.LookPorts(ctx)
	_, facts.Name = kubelet.NodeName(kubelet.NameSources{Hostname: j.facts.Hostname})
	facts.Foreign = j.foreign()
	facts.Uplink = j.lookNetwork(ctx)
	if j.inputs.stub != nil && j.state.Payload == "" {
		probe, err := j.fetcher(log).Probe(ctx, j.inputs.stub)
		facts.Endpoint, facts.Skew = err, probe.Skew
		if probe.Temporary != nil {
			log.Note(probe.Temporary.Error() + "; the fetch step goes on asking")
		}
	}
	return facts, nil
}

// lookNetwork returns an error if br-ex does not exist and cannot be created.
func (j *join) lookNetwork(ctx context.Context) error {
	if j.nm == nil {
		return nil // the check for NetworkManager reports this
	}
	if j.before && j.lacksSwitch(ctx) {
		j.unseen = true
		return nil // the packages step reports this, or installs the package and checks again
	}
	_, err := j.move(ctx)
	return err
}

// foreign fails if kubelet on this host belongs to a cluster that the agent
// did not join.
func (j *join) foreign() error {
	if j.state.LastStep != "" {
		return nil // the identity step compares cluster and name
	}
	content, _, err := j.tree.ReadFile(kubelet.KubeconfigPath)
	if err != nil {
		return nil //nolint:nilerr // there is none
	}
	server := "a cluster that its kubeconfig does not name"
	if cluster, err := kubelet.ClusterOf(content); err == nil {
		server = cluster.Server
	}
	return report.Fail(report.Refused,
		"# to leave that cluster, before the next join:\nsystemctl disable --now kubelet\nmv /var/lib/kubelet /var/lib/kubelet.old",
		"this host already is a node of %s (%s)", server, kubelet.KubeconfigPath)
}
