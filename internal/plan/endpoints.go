// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/url"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs/migrate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
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
		if address, trust, ok := b.Run.Fetcher(report.Log{}).DirectAddress(b.Run.Inputs.UserData); ok {
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
