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

// reach is who has to answer before the uplink is moved and after: the API
// server, without which the node is lost to the cluster, the ignition server,
// and whom the administrator has named.
func (j *join) reach() []migrate.Endpoint {
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
		if address, trust, ok := j.fetcher(report.Log{}).Direct(j.inputs.stub); ok {
			all = append(all, migrate.Endpoint{Name: "the ignition server", Address: address, TLS: trust})
		}
	}
	for _, peer := range j.config.VerifyReach {
		host, _, _ := net.SplitHostPort(peer) // it was validated
		all = append(all, migrate.Endpoint{Name: "peer " + host, Address: peer})
	}
	return all
}

// needsIgnition tells whether the ignition server has to answer. A join that
// goes on with a payload which an earlier run has kept does not need it any
// more, and shall not fail because it is gone.
func (j *join) needsIgnition() bool {
	return j.inputs.stub != nil && (j.payload == nil || j.payload.Server != "")
}
