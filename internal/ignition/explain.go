// SPDX-License-Identifier: Apache-2.0

package ignition

import (
	"cmp"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/fetch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/transport"
)

// An explanation adapts the text and the remedy of a failed request to the server of the user data.
type explanation func(userData *UserData, e *transport.Error)

// explain adapts the text and the remedy of a failed request to the server of the user data.
func explain(userData *UserData, e *transport.Error) {
	own := hostedExplanations
	if userData.isStandalone() {
		own = standaloneExplanations
	}
	for _, table := range []map[transport.Kind]explanation{commonExplanations, own} {
		if apply := table[e.Kind]; apply != nil {
			apply(userData, e)
		}
	}
}

// commonExplanations apply to both kinds of servers, before those of the server's own kind.
var commonExplanations = map[transport.Kind]explanation{
	transport.UnknownName: func(_ *UserData, e *transport.Error) {
		e.Code = report.Refused
		e.Temporary = false // names of clusters are often unknown outside, which no retry changes
	},
	transport.Unreachable: func(_ *UserData, e *transport.Error) {
		e.Remedy = report.Remedyf("# check the connection:\ncurl -vkm 20 https://%s/healthz", e.Address)
	},
	transport.NoTLS: func(userData *UserData, e *transport.Error) {
		e.Remedy = "# check the host and port of the endpoint:\n" + userData.endpointRemedy()
	},
	transport.WrongName: func(userData *UserData, e *transport.Error) {
		if names := transport.CertificateNames(e.Certificate); len(names) > 0 {
			e.Remedy = report.Remedyf("# if the server is correct, use the name in its certificate and set its address:\n"+
				"# --endpoint https://%s%s --connect-to %s",
				net.JoinHostPort(names[0], portOf(userData)), userData.Source.Path, e.Address)
		}
	},
	transport.OutsideValidity: func(userData *UserData, e *transport.Error) {
		if time.Now().After(e.Certificate.NotAfter) {
			e.Remedy += "\n# if the clock is correct, the cluster has not renewed the certificate; " +
				userData.certificateRemedy()
		}
	},
	fetch.Redirect: func(userData *UserData, e *transport.Error) {
		e.Code = report.Refused
		e.Remedy = report.Remedy("# check for proxies and load balancers between this host and " + userData.Source.Host)
	},
	fetch.TooLarge: func(userData *UserData, e *transport.Error) {
		e.Remedy = report.Remedy("# check that the endpoint is that of the " + userData.serverKind())
	},
}

// hostedExplanations are about the ignition server of a hosted cluster.
var hostedExplanations = map[transport.Kind]explanation{
	transport.UnknownName: func(_ *UserData, e *transport.Error) {
		e.Remedy = report.Remedyf("# fix DNS (check with: getent hosts %s), or set the address with --connect-to HOST:PORT",
			e.Name)
	},
	transport.Handshake: func(userData *UserData, e *transport.Error) {
		e.Remedy = report.Remedyf("# a Route requires a host name: specify the endpoint by name, not by address\n"+
			"openssl s_client -connect %s -servername %s </dev/null", e.Address, userData.Source.Hostname())
	},
	transport.UnknownAuthority: explainHostedIssuer,
	transport.Status:           explainStatus,
	fetch.Truncated: func(_ *UserData, e *transport.Error) {
		e.Remedy = "# check the network connection; without the proxy of HyperShift in front of it, the ignition server " +
			"closes transfers that take more than 10 seconds, and with it those of large payloads on slow links"
	},
}

// standaloneExplanations are about the machine-config server of a standalone cluster.
var standaloneExplanations = map[transport.Kind]explanation{
	transport.UnknownName: func(_ *UserData, e *transport.Error) {
		e.Remedy = report.Remedyf("# add the name to DNS or /etc/hosts, because kubelet requires it too "+
			"(check with: getent hosts %s); api-int names refer to the internal load balancer of the cluster "+
			"and often exist only in its network", e.Name)
	},
	transport.Unreachable: func(_ *UserData, e *transport.Error) {
		// The server usually accepts connections from the cluster's own network only.
		e.Remedy += report.Remedyf("\n# api-int and port %s serve the cluster's own network; allow %s for this host on "+
			"the internal load balancer and in firewalls (public API addresses rarely serve it), or set another address "+
			"with --connect-to HOST:PORT", machineConfigPort, e.Address)
	},
	transport.UnknownAuthority: explainStandaloneIssuer,
	transport.Status:           explainConfigStatus,
	fetch.Truncated: func(_ *UserData, e *transport.Error) {
		e.Remedy = "# check the network connection to the server, and proxies or load balancers on the path"
	},
}

// explainStatus sets the text and remedy for an HTTP status of the ignition server. The ignition
// server itself returns 200, 401, 404, 500 and 511; HAProxy in front of it returns 502, 503 and 504.
func explainStatus(userData *UserData, e *transport.Error) {
	pool := nodePoolOf(userData)
	apply := statusExplanations[e.Status]
	switch {
	case apply != nil:
		apply(userData, e)
	case e.Status == http.StatusInternalServerError && strings.Contains(e.FirstLine, "Invalid ignition payload"):
		e.Temporary, e.Message = false, "the ignition server has a payload for this token that is not an Ignition config "+
			"(HTTP 500)"
		e.Remedy = report.Remedy("# the reason is only in the log of the ignition server, ValidGeneratedPayload remains " +
			"True; on the management cluster:\n" + pool.serverLogsCommands())
	case e.Temporary:
		e.Remedy = report.Remedy("# check on the management cluster whether the server is running:\n" +
			pool.serverPodsCommands())
	default:
		e.Code = report.Refused
		e.Message += ", which the ignition server never returns: another server responds at the endpoint"
		e.Remedy = "# check the endpoint, and proxies or load balancers on the path to it:\n" + getEndpoint
	}
}

var statusExplanations = map[int]explanation{
	http.StatusUnauthorized:                  explainUnauthorized,
	http.StatusNetworkAuthenticationRequired: explainRefusedToken,
	http.StatusNotFound: func(userData *UserData, e *transport.Error) {
		e.Message = fmt.Sprintf("the server has no payload at %s (HTTP 404)", userData.Source.Path)
		e.Remedy = "# the payload of a NodePool is at https://HOST/ignition, without a trailing slash; print the host:\n" +
			getEndpoint
	},
	http.StatusBadGateway:         explainGateway,
	http.StatusServiceUnavailable: explainGateway,
	http.StatusGatewayTimeout:     explainGateway,
}

func explainUnauthorized(userData *UserData, e *transport.Error) {
	if !userData.HasToken() {
		e.Message, e.Remedy = "the server requires a token (HTTP 401), and none was given", getToken
		return
	}
	e.Message = "the server cannot decode the token (HTTP 401), which must be a base64-encoded UUID" +
		transport.SkewNote(e.Skew)
	e.Remedy = report.Remedy("# use current, unmodified user data from the management cluster:\n" +
		nodePoolOf(userData).userDataCommands())
}

// explainRefusedToken explains status 511: the token has expired, or the payload is not generated
// yet. A retry can succeed in the second case, so after the last attempt both causes are reported.
func explainRefusedToken(userData *UserData, e *transport.Error) {
	pool := nodePoolOf(userData)
	named := "the NodePool"
	if userData.NodePool() != "" {
		named = "NodePool " + userData.NodePool()
	}
	e.Code = report.CredentialRefused
	e.Message = fmt.Sprintf("the server does not accept the token (HTTP 511): the token has expired or was rotated, "+
		"or the payload of %s is not generated yet%s", named, transport.SkewNote(e.Skew))
	e.Remedy = report.Remedy("# get user data with the current token from the management cluster:\n" +
		pool.userDataCommands() +
		"\n# if that token is rejected too, check whether ValidGeneratedPayload is True:\n" + pool.conditionsCommand())
}

func explainGateway(userData *UserData, e *transport.Error) {
	e.Message = fmt.Sprintf("the ignition server is unreachable for the proxy in front of it (HTTP %d)", e.Status)
	e.Remedy = report.Remedy("# check on the management cluster whether the server is running:\n" +
		nodePoolOf(userData).serverPodsCommands())
}

// explainHostedIssuer distinguishes the CA of another cluster from a proxy that intercepts TLS.
func explainHostedIssuer(userData *UserData, e *transport.Error) {
	issuer := e.Certificate.Issuer
	switch {
	case slices.Contains(caSubjects(userData), issuer.String()):
		e.Message = sameNameText(e) + "the user data belongs to another hosted cluster, or is older than the cluster's CA"
		e.Remedy = report.Remedy("# get user data of this hosted cluster from the management cluster:\n" +
			nodePoolOf(userData).userDataCommands())
	case strings.HasPrefix(issuer.CommonName, "ingress-operator@"):
		e.Message = fmt.Sprintf("the default router of the management cluster responds (certificate for %s): "+
			"no Route exists for %s",
			strings.Join(transport.CertificateNames(e.Certificate), ", "), userData.Source.Hostname())
		e.Remedy = "# check the endpoint:\n" + getEndpoint
	default:
		e.Message = otherIssuerText(userData, e, "the CA in the user data,")
		e.Remedy = interceptionRemedy(e)
	}
}

// explainStandaloneIssuer does the same for a standalone cluster, whose CA is given separately.
func explainStandaloneIssuer(userData *UserData, e *transport.Error) {
	if slices.Contains(caSubjects(userData), e.Certificate.Issuer.String()) {
		e.Message = sameNameText(e) +
			"the given CA belongs to another cluster, was replaced, or does not sign the machine-config server"
		e.Remedy = getWorkerUserData
		return
	}
	e.Message = otherIssuerText(userData, e, "the CA")
	e.Remedy = interceptionRemedy(e) + "\n" + getWorkerUserData
}

func sameNameText(e *transport.Error) string {
	return fmt.Sprintf("the server's certificate is signed by another CA with the same name %q: ", e.Certificate.Issuer)
}

func otherIssuerText(userData *UserData, e *transport.Error, expected string) string {
	return fmt.Sprintf("the server's certificate is signed by %q, not by %s %q: "+
		"a proxy intercepts TLS, or this is another server",
		e.Certificate.Issuer, expected, strings.Join(caSubjects(userData), ", "))
}

func interceptionRemedy(e *transport.Error) report.Remedy {
	return report.Remedyf("# exclude %s from TLS inspection, because the payload contains credentials of the cluster",
		e.Address)
}

// caSubjects returns the subject names of the CAs in the user data.
func caSubjects(userData *UserData) []string {
	var list []string
	for _, rest := range userData.CAs {
		for {
			var block *pem.Block
			if block, rest = pem.Decode(rest); block == nil {
				break
			}
			if ca, err := x509.ParseCertificate(block.Bytes); err == nil {
				list = append(list, ca.Subject.String())
			}
		}
	}
	return list
}

func portOf(userData *UserData) string {
	return cmp.Or(userData.Source.Port(), "443")
}
