// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/url"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs/migrate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// RequiredEndpoints returns the endpoints that must be reachable before and after
// the migration of the uplink: the API server, without which the node is lost to
// the cluster, the ignition server, and those of --verify-reach.
func (b *Builder) RequiredEndpoints() []migrate.Endpoint {
	var all []migrate.Endpoint
	if server, err := url.Parse(b.Run.State.APIServer); err == nil && server.Hostname() != "" {
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(b.Run.State.APIServerCA)
		all = append(all, migrate.Endpoint{
			Name: "the API server", Address: net.JoinHostPort(server.Hostname(), cmp.Or(server.Port(), "443")),
			TLS: &tls.Config{RootCAs: pool, ServerName: server.Hostname(), MinVersion: tls.VersionTLS12},
		})
	}
	if b.needsIgnition() {
		if address, trust, ok := b.Fetcher(report.Log{}).DirectAddress(b.Run.Inputs.UserData); ok {
			all = append(all, migrate.Endpoint{Name: "the ignition server", Address: address, TLS: trust})
		}
	}
	for _, peer := range b.Run.Config.RequiredEndpoints {
		host, _, _ := net.SplitHostPort(peer) // was validated before
		all = append(all, migrate.Endpoint{Name: "peer " + host, Address: peer})
	}
	return all
}

// needsIgnition reports whether the ignition server must be reachable. A join that
// resumes with a saved payload no longer needs the server and must not fail because
// of it.
func (b *Builder) needsIgnition() bool {
	return b.Run.Inputs.UserData != nil && (b.Payload == nil || b.Payload.Server != "")
}

// AttachesUplink reports whether the agent attaches the uplink to br-ex. On RHEL CoreOS, the payload's own
// ovs-configuration.service does so at every boot.
func (b *Builder) AttachesUplink() bool {
	return b.Host.Facts.Capabilities().CreatesBridge && !slices.Contains(b.Run.Config.Skip, steps.Network)
}

// AwaitUplink waits while NetworkManager is still activating the uplink, as after a boot. The facts about the network
// are current afterwards. It does not wait if the uplink is not needed.
func (b *Builder) AwaitUplink(ctx context.Context, log report.Log) error {
	if b.Host.NetworkManager == nil || !b.AttachesUplink() {
		return nil
	}
	return ovs.AwaitActivation(ctx, b.RefreshNetwork, migrationOptions(b.Run.Config), log)
}

// Network returns the facts about the network, and gathers them if there are none.
func (b *Builder) Network(ctx context.Context) (ovs.Facts, error) {
	if b.network == nil {
		gather := ovs.Gather
		if b.GatherNetwork != nil {
			gather = b.GatherNetwork
		}
		facts, err := gather(ctx, b.Host.NetworkManager)
		if err != nil {
			return facts, err
		}
		if b.AttachesUplink() {
			facts.GatherHostRules(ctx, migrationOptions(b.Run.Config))
		}
		b.network = &facts
	}
	return *b.network, nil
}

// RefreshNetwork returns the current facts about the network: those of earlier steps with what these steps have
// changed. It only gathers all facts again if they are stale.
func (b *Builder) RefreshNetwork(ctx context.Context) (ovs.Facts, error) {
	if b.network != nil {
		stale, err := b.network.IsStale(ctx, b.Host.NetworkManager)
		if err == nil && !stale {
			err = b.network.Refresh(ctx, b.Host.NetworkManager)
		}
		if err != nil {
			return ovs.Facts{}, err
		}
		if stale {
			b.ForgetNetwork()
		}
	}
	return b.Network(ctx)
}

// ForgetNetwork makes Network gather all facts again, after the migration.
func (b *Builder) ForgetNetwork() { b.network = nil }

// PlanMigration plans the migration of the uplink to br-ex, and returns the facts from which it is planned.
func (b *Builder) PlanMigration(ctx context.Context) (ovs.Migration, ovs.Facts, error) {
	facts, err := b.Network(ctx)
	if err != nil {
		return ovs.Migration{}, facts, err
	}
	migration, err := ovs.Plan(facts, migrationOptions(b.Run.Config))
	return migration, facts, err
}

// CheckAccess returns an error if the packet filter would accept no new SSH connections after the migration.
func (b *Builder) CheckAccess(ctx context.Context) error {
	facts, err := b.Network(ctx)
	if err != nil {
		return err
	}
	return ovs.CheckAccess(facts, migrationOptions(b.Run.Config))
}

// gatherNetwork adds the facts about the uplink unless its migration is skipped.
func (b *Builder) gatherNetwork(ctx context.Context, f *Facts) error {
	if b.Host.NetworkManager == nil || !b.AttachesUplink() {
		return nil
	}
	network, err := b.Network(ctx)
	if err != nil {
		return err
	}
	f.Network, f.InstallsOpenVSwitch = &network, b.lacksOpenVSwitch(network)
	return nil
}
