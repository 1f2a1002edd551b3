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
		e.Remedy = report.Remedyf("# repair DNS (check with: getent hosts %s), or name the address: --connect-to HOST:PORT", e.Name)
		if userData.isStandalone() {
			e.Remedy = report.Remedyf("# make it known to this host in DNS or /etc/hosts, for kubelet needs it too (check with: getent hosts %s): "+
				"api-int names lead to the cluster's internal load balancer, and are often only known inside", e.Name)
		}
	case transport.Unreachable:
		e.Remedy = report.Remedyf("# check the way to it:\ncurl -vk https://%s/healthz", e.Address)
		if userData.isStandalone() {
			e.Remedy += "\n" + unreachableServerRemedy(e.Address)
		}
	case transport.NoTLS:
		e.Remedy = "# check host and port of the endpoint:\n" + userData.endpointRemedy()
	case transport.Handshake:
		if !userData.isStandalone() {
			e.Remedy = report.Remedyf("# a Route is found by name, so the endpoint must be given by name and not by address\nopenssl s_client -connect %s -servername %s </dev/null",
				e.Address, userData.Source.Hostname())
		}
	case transport.UnknownAuthority:
		e.Message, e.Remedy = explainUnknownIssuer(userData, e)
	case transport.WrongName:
		if names := transport.CertificateNames(e.Certificate); len(names) > 0 {
			e.Remedy = report.Remedyf("# if it is the right server, give it the name of its certificate and say where it is:\n# --endpoint https://%s%s --connect-to %s",
				net.JoinHostPort(names[0], portOf(userData)), userData.Source.Path, e.Address)
		}
	case transport.OutsideValidity:
		if time.Now().After(e.Certificate.NotAfter) {
			e.Remedy += "\n# if it is right, the cluster has not renewed the certificate: " + userData.certificateRemedy()
		}
	case fetch.Redirect:
		e.Code, e.Remedy = report.Refused, report.Remedy("# check what stands between this host and "+userData.Source.Host)
	case fetch.TooLarge:
		e.Remedy = report.Remedy("# check that the endpoint is the " + userData.serverKind() + "'s")
	case fetch.Truncated:
		e.Remedy = "# check the link to the server: it stops sending to a reader that takes more than 10 seconds"
		if userData.isStandalone() {
			e.Remedy = "# check the link to the server, and what stands in between"
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
		e.Message, e.Remedy = "it wants a token (HTTP 401) and none was given", getToken
	case status == http.StatusUnauthorized:
		e.Message = "it cannot read the token (HTTP 401), which must be the base64 of a UUID" + skew
		e.Remedy = report.Remedy("# use a fresh stub, unchanged, from the management cluster:\n" + pool.userDataCommands())
	case status == http.StatusNetworkAuthenticationRequired:
		named := "the NodePool"
		if userData.NodePool() != "" {
			named = "NodePool " + userData.NodePool()
		}
		e.Code = report.CredentialRefused
		e.Message = fmt.Sprintf("it does not know the token (HTTP 511): the token has expired or was rotated out, or the payload of %s is not generated yet%s", named, skew)
		e.Remedy = report.Remedy("# get a stub with the current token, on the management cluster:\n" + pool.userDataCommands() +
			"\n# and if that one is refused too, see whether ValidGeneratedPayload is True:\n" + pool.conditionsCommand())
	case status == http.StatusNotFound:
		e.Message = fmt.Sprintf("it has nothing at %s (HTTP 404)", userData.Source.Path)
		e.Remedy = "# the payload of a NodePool is at https://HOST/ignition, without a slash at the end; the host is:\n" + getEndpoint
	case status == http.StatusInternalServerError && strings.Contains(e.FirstLine, "Invalid ignition payload"):
		e.Temporary, e.Message = false, "it has a payload for this token that is not valid (HTTP 500)"
		e.Remedy = report.Remedy("# see why on the management cluster:\n" + pool.conditionsCommand())
	case status == http.StatusBadGateway, status == http.StatusServiceUnavailable, status == http.StatusGatewayTimeout:
		e.Message = fmt.Sprintf("the proxy in front of the ignition server does not reach it (HTTP %d)", status)
		e.Remedy = report.Remedy("# see whether the server runs, on the management cluster:\n" + pool.serverPodsCommands())
	case e.Temporary:
		e.Remedy = report.Remedy("# see whether the server runs, on the management cluster:\n" + pool.serverPodsCommands())
	default:
		e.Code = report.Refused
		e.Message += ", which the ignition server never does: something else stands in its place"
		e.Remedy = "# check the endpoint, and what stands between this host and it:\n" + getEndpoint
	}
}

// explainUnknownIssuer distinguishes the CA of another cluster from a proxy that intercepts TLS.
func explainUnknownIssuer(userData *UserData, e *transport.Error) (what string, remedy report.Remedy) {
	issuer, expected := e.Certificate.Issuer.String(), caSubjects(userData)
	for _, subject := range expected {
		if subject == issuer && userData.isStandalone() {
			return fmt.Sprintf("its certificate is signed by another CA that is also called %q: the CA that was given is of another cluster, is not the one that signs the machine-config server (the API server has others), or was replaced", issuer),
				getWorkerUserData
		}
		if subject == issuer {
			return fmt.Sprintf("its certificate is signed by another CA that is also called %q: the stub is of another hosted cluster, or older than the cluster's CA", issuer),
				report.Remedy("# get a stub of this hosted cluster, from the management cluster:\n" + nodePoolOf(userData).userDataCommands())
		}
	}
	if strings.HasPrefix(e.Certificate.Issuer.CommonName, "ingress-operator@") && !userData.isStandalone() {
		return fmt.Sprintf("the default router of the management cluster answers in its place (certificate for %s): there is no Route for %s", strings.Join(transport.CertificateNames(e.Certificate), ", "), userData.Source.Hostname()),
			"# check the endpoint:\n" + getEndpoint
	}
	whose, remedy := "the stub's CA", report.Remedyf("# let connections to %s through unopened; the payload holds credentials of the cluster", e.Address)
	if userData.isStandalone() {
		whose, remedy = "the CA", remedy+"\n"+getWorkerUserData
	}
	return fmt.Sprintf("its certificate is signed by %q and not by %s %q: a proxy that opens TLS stands in between, or it is another server", issuer, whose, strings.Join(expected, ", ")), remedy
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
