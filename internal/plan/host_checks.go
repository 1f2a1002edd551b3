package plan

import (
	"context"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/identity"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kubelet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/preflight"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// HostFacts gathers the facts for the checks that need no payload. If installsPackages is
// true, the uplink is not checked on a host without Open vSwitch, because the packages
// step installs it and checks the uplink then.
func (j *Builder) HostFacts(ctx context.Context, log report.Log, installsPackages bool) (preflight.HostFacts, error) {
	facts := preflight.HostFacts{Host: j.Facts, Systemd: j.SystemdErr}
	var err error
	if j.Systemd != nil {
		if facts.Units, err = preflight.GetUnits(ctx, j.Systemd); err != nil {
			return facts, err
		}
	}
	if facts.Links, err = hostnet.Links(); err != nil {
		return facts, err
	}
	facts.Ports = preflight.UsedPorts(ctx)
	_, facts.NodeName = kubelet.NodeName(kubelet.NameSources{Hostname: j.Facts.Hostname})
	facts.OtherCluster = j.otherCluster()
	if !installsPackages || !j.lacksOpenVSwitch(ctx) {
		facts.Uplink = j.CheckUplink(ctx)
	}
	if j.Inputs.UserData != nil && j.State.PayloadDigest == "" {
		probe, err := j.Fetcher(log).Probe(ctx, j.Inputs.UserData)
		facts.Endpoint, facts.ClockSkew = err, probe.Skew
		if probe.Temporary != nil {
			log.Note(probe.Temporary.Error() + "; the fetch step goes on asking")
		}
	}
	return facts, nil
}

// CheckUplink returns an error if br-ex does not exist and cannot be created.
func (j *Builder) CheckUplink(ctx context.Context) error {
	if j.NM == nil {
		return nil // the check for NetworkManager reports this
	}
	_, err := j.PlanMigration(ctx)
	return err
}

// otherCluster fails if kubelet on this host belongs to a cluster that the agent
// did not join.
func (j *Builder) otherCluster() error {
	if j.State.LastStep != "" {
		return nil // the identity step compares cluster and name
	}
	content, _, err := j.Tree.ReadFile(identity.KubeconfigPath)
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
