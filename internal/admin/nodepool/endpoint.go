// SPDX-License-Identifier: Apache-2.0

package nodepool

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/transport"
)

// checkEndpoint requests the payload once, with the token, CA and proxy of the user data. HyperShift does not record
// the request as the arrival of a node. The finding is a problem only if a server has responded: this machine can be in
// another network than the hosts. Evaluate must have found no problem before.
func (f *Facts) checkEndpoint(ctx context.Context) report.Finding {
	err := ignition.Fetcher{}.TryPayload(ctx, f.userData)
	finding := f.evaluateEndpoint(err)
	finding.Check = "endpoint"
	return finding
}

// The kinds of failures without a response of a server, and those of TLS.
var (
	connectionKinds = []transport.Kind{
		transport.UnknownName, transport.NoNameServer, transport.NoRoute, transport.Unreachable, transport.ProxyUnreachable,
		transport.ProxyRefused, transport.ProxyAuthentication,
	}
	tlsKinds = []transport.Kind{
		transport.NoTLS, transport.Handshake, transport.UnknownAuthority, transport.WrongName, transport.OutsideValidity,
		transport.Unverified,
	}
)

// evaluateEndpoint returns the finding for the result of a request.
func (f *Facts) evaluateEndpoint(err error) report.Finding {
	endpoint := f.userData.Source.Host
	if err == nil {
		return report.Finding{Severity: report.SeverityOK, Message: endpoint + " serves the payload for this token"}
	}
	finding := report.RefusingFinding(err)
	var failed *transport.Error
	switch {
	case !errors.As(err, &failed):
	case slices.Contains(connectionKinds, failed.Kind):
		return report.Finding{
			Severity: report.SeverityWarning,
			Message:  "not checked from this machine: " + failed.Message + "; hosts must reach the endpoint",
			Remedy:   report.Remedyf("curl -vkm 20 https://%s/healthz # on a host, or a machine in its network", endpoint),
		}
	case slices.Contains(tlsKinds, failed.Kind):
		finding.Remedy = report.Remedyf("# the certificate must be of the ignition server, with the name in spec.services:\n"+
			"openssl s_client -connect %s -servername %s </dev/null\n"+
			"oc -n %s get hostedcluster %s -o jsonpath='{.spec.services}'",
			failed.Address, f.userData.Source.Hostname(), f.NodePool.Namespace, f.NodePool.Spec.ClusterName)
	case failed.Status == http.StatusNetworkAuthenticationRequired:
		finding.Message = fmt.Sprintf("the ignition server at %s does not accept the current token (HTTP 511): it has not "+
			"generated the payload yet, for example after a restart", endpoint)
		finding.Remedy = f.logsRemedy()
	}
	return finding
}
