// SPDX-License-Identifier: Apache-2.0

package ignition

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/fetch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/transport"
)

// explain adapts the text and the remedy of a failed request to the server of the user data.
func explain(userData *UserData, e *transport.Error) {
	switch e.Kind {
	case transport.UnknownName:
		e.Code, e.Temporary = report.Refused, false // names of clusters are often unknown outside, which no retry changes
		e.Remedy = report.Remedyf("# fix DNS (check with: getent hosts %s), or set the address with --connect-to HOST:PORT", e.Name)
		if userData.isStandalone() {
			e.Remedy = report.Remedyf("# add the name to DNS or /etc/hosts, because kubelet requires it too (check with: getent hosts %s); "+
				"api-int names refer to the internal load balancer of the cluster and often exist only in its network", e.Name)
		}
	case transport.Unreachable:
		e.Remedy = report.Remedyf("# check the connection:\ncurl -vk https://%s/healthz", e.Address)
		if userData.isStandalone() {
			e.Remedy += "\n" + unreachableServerRemedy(e.Address)
		}
	case transport.NoTLS:
		e.Remedy = "# check the host and port of the endpoint:\n" + userData.endpointRemedy()
	case transport.Handshake:
		if !userData.isStandalone() {
			e.Remedy = report.Remedyf("# a Route requires a host name: specify the endpoint by name, not by address\nopenssl s_client -connect %s -servername %s </dev/null",
				e.Address, userData.Source.Hostname())
		}
	case transport.UnknownAuthority:
		e.Message, e.Remedy = explainUnknownIssuer(userData, e)
	case transport.WrongName:
		if names := transport.CertificateNames(e.Certificate); len(names) > 0 {
			e.Remedy = report.Remedyf("# if the server is correct, use the name in its certificate and set its address:\n# --endpoint https://%s%s --connect-to %s",
				net.JoinHostPort(names[0], portOf(userData)), userData.Source.Path, e.Address)
		}
	case transport.OutsideValidity:
		if time.Now().After(e.Certificate.NotAfter) {
			e.Remedy += "\n# if the clock is correct, the cluster has not renewed the certificate; " + userData.certificateRemedy()
		}
	case fetch.Redirect:
		e.Code, e.Remedy = report.Refused, report.Remedy("# check for proxies and load balancers between this host and "+userData.Source.Host)
	case fetch.TooLarge:
		e.Remedy = report.Remedy("# check that the endpoint is that of the " + userData.serverKind())
	case fetch.Truncated:
		e.Remedy = "# check the network connection: the server closes transfers that take more than 10 seconds"
		if userData.isStandalone() {
			e.Remedy = "# check the network connection to the server, and proxies or load balancers on the path"
		}
	case transport.Status:
		if userData.isStandalone() {
			explainConfigStatus(userData, e)
		} else {
			explainStatus(userData, e)
		}
	}
}

// explainStatus sets the text and remedy for an HTTP status. The ignition server itself returns
// 200, 401, 404, 500 and 511; HAProxy in front of it returns 502, 503 and 504. Status 511 means
// that the token has expired, or that the payload is not generated yet. A retry can succeed in
// the second case, so after the last attempt both causes are reported.
func explainStatus(userData *UserData, e *transport.Error) {
	pool := nodePoolOf(userData)
	skew := transport.SkewNote(e.Skew)
	switch status := e.Status; {
	case status == http.StatusUnauthorized && !userData.HasToken():
		e.Message, e.Remedy = "the server requires a token (HTTP 401), and none was given", getToken
	case status == http.StatusUnauthorized:
		e.Message = "the server cannot decode the token (HTTP 401), which must be a base64-encoded UUID" + skew
		e.Remedy = report.Remedy("# use current, unmodified user data from the management cluster:\n" + pool.userDataCommands())
	case status == http.StatusNetworkAuthenticationRequired:
		named := "the NodePool"
		if userData.NodePool() != "" {
			named = "NodePool " + userData.NodePool()
		}
		e.Code = report.CredentialRefused
		e.Message = fmt.Sprintf("the server does not accept the token (HTTP 511): the token has expired or was rotated, or the payload of %s is not generated yet%s", named, skew)
		e.Remedy = report.Remedy("# get user data with the current token from the management cluster:\n" + pool.userDataCommands() +
			"\n# if that token is rejected too, check whether ValidGeneratedPayload is True:\n" + pool.conditionsCommand())
	case status == http.StatusNotFound:
		e.Message = fmt.Sprintf("the server has no payload at %s (HTTP 404)", userData.Source.Path)
		e.Remedy = "# the payload of a NodePool is at https://HOST/ignition, without a trailing slash; print the host:\n" + getEndpoint
	case status == http.StatusInternalServerError && strings.Contains(e.FirstLine, "Invalid ignition payload"):
		e.Temporary, e.Message = false, "the server's payload for this token is not valid (HTTP 500)"
		e.Remedy = report.Remedy("# check the reason on the management cluster:\n" + pool.conditionsCommand())
	case status == http.StatusBadGateway, status == http.StatusServiceUnavailable, status == http.StatusGatewayTimeout:
		e.Message = fmt.Sprintf("the ignition server is unreachable for the proxy in front of it (HTTP %d)", status)
		e.Remedy = report.Remedy("# check on the management cluster whether the server is running:\n" + pool.serverPodsCommands())
	case e.Temporary:
		e.Remedy = report.Remedy("# check on the management cluster whether the server is running:\n" + pool.serverPodsCommands())
	default:
		e.Code = report.Refused
		e.Message += ", which the ignition server never returns: another server responds at the endpoint"
		e.Remedy = "# check the endpoint, and proxies or load balancers on the path to it:\n" + getEndpoint
	}
}

// explainUnknownIssuer distinguishes the CA of another cluster from a proxy that intercepts TLS.
func explainUnknownIssuer(userData *UserData, e *transport.Error) (what string, remedy report.Remedy) {
	issuer, expected := e.Certificate.Issuer.String(), caSubjects(userData)
	for _, subject := range expected {
		if subject == issuer && userData.isStandalone() {
			return fmt.Sprintf("the server's certificate is signed by another CA with the same name %q: the given CA belongs to another cluster, was replaced, or does not sign the machine-config server", issuer),
				getWorkerUserData
		}
		if subject == issuer {
			return fmt.Sprintf("the server's certificate is signed by another CA with the same name %q: the user data belongs to another hosted cluster, or is older than the cluster's CA", issuer),
				report.Remedy("# get user data of this hosted cluster from the management cluster:\n" + nodePoolOf(userData).userDataCommands())
		}
	}
	if strings.HasPrefix(e.Certificate.Issuer.CommonName, "ingress-operator@") && !userData.isStandalone() {
		return fmt.Sprintf("the default router of the management cluster responds (certificate for %s): no Route exists for %s", strings.Join(transport.CertificateNames(e.Certificate), ", "), userData.Source.Hostname()),
			"# check the endpoint:\n" + getEndpoint
	}
	whose, remedy := "the CA in the user data,", report.Remedyf("# exclude %s from TLS inspection, because the payload contains credentials of the cluster", e.Address)
	if userData.isStandalone() {
		whose, remedy = "the CA", remedy+"\n"+getWorkerUserData
	}
	return fmt.Sprintf("the server's certificate is signed by %q, not by %s %q: a proxy intercepts TLS, or this is another server", issuer, whose, strings.Join(expected, ", ")), remedy
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
	if port := userData.Source.Port(); port != "" {
		return port
	}
	return "443"
}
