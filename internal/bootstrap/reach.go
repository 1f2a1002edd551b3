package bootstrap

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/url"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs/migrate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// requiredEndpoints returns the endpoints that must be reachable before and after
// the migration of the uplink: the API server, without which the node is lost to
// the cluster, the ignition server, and those of --verify-reach.
func (j *operation) requiredEndpoints() []migrate.Endpoint {
	var all []migrate.Endpoint
	if server, err := url.Parse(j.state.APIServer); err == nil && server.Hostname() != "" {
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(j.state.APIServerCA)
		all = append(all, migrate.Endpoint{
			Name: "the API server", Address: net.JoinHostPort(server.Hostname(), cmp.Or(server.Port(), "443")),
			TLS: &tls.Config{RootCAs: pool, ServerName: server.Hostname(), MinVersion: tls.VersionTLS12},
		})
	}
	if j.needsIgnition() {
		if address, trust, ok := j.fetcher(report.Log{}).DirectAddress(j.inputs.userData); ok {
			all = append(all, migrate.Endpoint{Name: "the ignition server", Address: address, TLS: trust})
		}
	}
	for _, peer := range j.config.RequiredEndpoints {
		host, _, _ := net.SplitHostPort(peer) // was validated before
		all = append(all, migrate.Endpoint{Name: "peer " + host, Address: peer})
	}
	return all
}

// needsIgnition reports whether the ignition server must be reachable. A join that
// resumes with a saved payload no longer needs the server and must not fail because
// of it.
func (j *operation) needsIgnition() bool {
	return j.inputs.userData != nil && (j.payload == nil || j.payload.Server != "")
}
