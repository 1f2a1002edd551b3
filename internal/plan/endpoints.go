// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/url"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs/migrate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// RequiredEndpoints returns the endpoints that must be reachable before and after
// the migration of the uplink: the API server, without which the node is lost to
// the cluster, the ignition server, and those of --verify-reach. The payload is nil before
// it was loaded.
func (r *Run) RequiredEndpoints(payload *ignition.Payload) []migrate.Endpoint {
	var all []migrate.Endpoint
	if server, err := url.Parse(r.State.APIServer); err == nil && server.Hostname() != "" {
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(r.State.APIServerCA)
		all = append(all, migrate.Endpoint{
			Name: "the API server", Address: net.JoinHostPort(server.Hostname(), cmp.Or(server.Port(), "443")),
			TLS: &tls.Config{RootCAs: pool, ServerName: server.Hostname(), MinVersion: tls.VersionTLS12},
		})
	}
	// A join that resumes with a saved payload no longer needs the ignition server, and must not fail because of it.
	if r.UserData != nil && (payload == nil || payload.Server != "") {
		if address, trust, ok := r.Fetcher(report.Log{}).DirectAddress(r.UserData); ok {
			all = append(all, migrate.Endpoint{Name: "the ignition server", Address: address, TLS: trust})
		}
	}
	for _, peer := range r.Config.RequiredEndpoints {
		host, _, _ := net.SplitHostPort(peer) // was validated before
		all = append(all, migrate.Endpoint{Name: "peer " + host, Address: peer})
	}
	return all
}
