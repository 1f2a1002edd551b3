package bootstrap

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/url"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// move decides what becomes of the uplink.
func (j *join) move(ctx context.Context) (ovs.Move, error) {
	facts, err := ovs.Look(ctx, j.nm)
	if err != nil {
		return ovs.Move{}, err
	}
	return ovs.Plan(facts, ovs.Options{BridgeInterface: j.config.BridgeInterface})
}

// reach is who has to answer before the uplink is moved and after: the API
// server, without which the node is lost to the cluster.
func (j *join) reach() []ovs.Reach {
	server, err := url.Parse(j.state.APIServer)
	if err != nil || server.Hostname() == "" {
		return nil
	}
	port := server.Port()
	if port == "" {
		port = "443"
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(j.state.APIServerCA)
	return []ovs.Reach{{
		Name: "the API server", Address: net.JoinHostPort(server.Hostname(), port),
		TLS: &tls.Config{RootCAs: pool, ServerName: server.Hostname(), MinVersion: tls.VersionTLS12},
	}}
}

// buildBridge moves the uplink into br-ex and tells others where it is.
func buildBridge(ctx context.Context, j *join, log report.Log) (outcome, error) {
	vswitch := running("openvswitch.service")
	vswitch.Why = "br-ex is an Open vSwitch bridge"
	if _, err := j.ledger.Apply(ctx, "network", []ledger.Change{vswitch}); err != nil {
		return outcome{}, err
	}
	move, err := j.move(ctx)
	if err != nil {
		return outcome{}, err
	}
	j.bridge.Prepare(move, log, j.reach())
	made, err := j.ledger.Apply(ctx, "network", []ledger.Change{move.Change()})
	if err != nil {
		return outcome{}, err
	}
	facts, err := ovs.Look(ctx, j.nm)
	if err != nil {
		return outcome{}, err
	}
	files, err := ovs.Files(facts)
	if err != nil {
		return outcome{}, err
	}
	told, err := j.ledger.Apply(ctx, "network", files)
	if err != nil {
		return outcome{}, err
	}
	status, err := ovs.LookStatus(ctx)
	if err != nil {
		return outcome{}, err
	}
	if len(made)+len(told) == 0 {
		return same("%s", status)
	}
	return changed("%s", j.bridge.Summary(status))
}
