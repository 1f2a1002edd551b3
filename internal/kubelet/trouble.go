package kubelet

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// requestProblem explains why a request failed.
type requestProblem struct {
	text      string
	remedy    string
	code      report.Code
	permanent bool // retries do not help
}

func (t requestProblem) failure(doing string, err error) error {
	return report.Fail(t.code, t.remedy, "%s: %w", doing, describedError{text: t.text, err: err})
}

// describedError is an error with a replaced message.
type describedError struct {
	text string
	err  error
}

func (d describedError) Error() string { return d.text }

// Unwrap returns the original error.
func (d describedError) Unwrap() error { return d.err }

// explain returns the explanation of a failed request.
func explain(err error, server string) requestProblem {
	if t, known := explainResponse(err); known {
		return t
	}
	if t, known := explainTLS(err, server); known {
		return t
	}
	return explainConnection(err, server)
}

// explainResponse explains an error response of the API server or of a proxy.
func explainResponse(err error) (requestProblem, bool) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return requestProblem{}, false
	}
	text := fmt.Sprintf("the API server answers %d: %s", status.Status().Code, strings.TrimSpace(status.Status().Message))
	switch {
	case apierrors.IsUnauthorized(err):
		return requestProblem{
			text: "the API server does not accept this credential (401)", code: report.CredentialRefused, permanent: true,
			remedy: "# get a fresh user-data stub for this cluster and run join again",
		}, true
	case apierrors.IsForbidden(err):
		return requestProblem{text: text, code: report.CredentialRefused, permanent: true, remedy: "# check the RBAC of the hosted cluster"}, true
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsMethodNotSupported(err), apierrors.IsNotFound(err):
		return requestProblem{text: text, code: report.Failed, permanent: true}, true
	}
	return requestProblem{text: text, code: report.Failed, remedy: "# look at the hosted control plane's kube-apiserver pods"}, true
}

func explainTLS(err error, server string) (requestProblem, bool) {
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var alert *net.OpError
	var record tls.RecordHeaderError
	look := "openssl s_client -connect " + serverHostPort(server) + " -showcerts </dev/null"
	switch {
	case errors.As(err, &authority):
		return requestProblem{
			text: "the server at " + server + " has a certificate that this cluster's CA has not signed" + describeIssuer(authority.Cert) +
				"; something else answers there (a load balancer, a proxy that opens TLS), or the CA was replaced",
			remedy: look, code: report.Failed,
		}, true
	case errors.As(err, &name):
		return requestProblem{
			text:   fmt.Sprintf("the server at %s has a certificate for other names: %s", server, strings.Join(certificateNames(name.Certificate), ", ")),
			remedy: look, code: report.Failed,
		}, true
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired && invalid.Cert != nil:
		return requestProblem{
			text: fmt.Sprintf("the certificate of %s is valid from %s to %s, and this machine's clock says %s",
				server, formatTime(invalid.Cert.NotBefore), formatTime(invalid.Cert.NotAfter), formatTime(time.Now())),
			remedy: "chronyc makestep # if the clock is wrong", code: report.Failed,
		}, true
	case errors.As(err, &invalid):
		return requestProblem{text: "the certificate of " + server + " is not valid: " + invalid.Error(), remedy: look, code: report.Failed}, true
	case errors.As(err, &alert) && alert.Op == "remote error":
		return requestProblem{text: "the server at " + server + " refused the TLS handshake: " + alert.Err.Error(), remedy: look, code: report.Failed}, true
	case errors.As(err, &record), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return requestProblem{text: "the server at " + server + " does not speak TLS", remedy: look, code: report.Failed}, true
	}
	return requestProblem{}, false
}

func explainConnection(err error, server string) requestProblem {
	var dns *net.DNSError
	var network net.Error
	t := requestProblem{code: report.Failed, remedy: "curl -kv " + server + "/version"}
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		t.text = fmt.Sprintf("the name %s of the API server has no address in DNS", dns.Name)
		t.remedy = "getent ahosts " + dns.Name
	case errors.As(err, &dns):
		t.text = fmt.Sprintf("the name %s of the API server cannot be looked up: %s", dns.Name, dns.Err)
		t.remedy = "getent ahosts " + dns.Name
	case errors.Is(err, syscall.ECONNREFUSED):
		t.text = "nothing listens at " + server + " (connection refused)"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		t.text = "there is no way to " + server + " (no route to host)"
		t.remedy = "ip route get $(getent ahosts " + serverHost(server) + " | awk 'NR==1{print $1}')"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		t.text = "no answer from " + server + " in time; a firewall that drops packets looks like this"
	default:
		t.text = "no answer from " + server + ": " + err.Error()
	}
	return t
}

func describeIssuer(certificate *x509.Certificate) string {
	if certificate == nil {
		return ""
	}
	return fmt.Sprintf(" (its issuer is %q)", certificate.Issuer)
}

func certificateNames(certificate *x509.Certificate) []string {
	names := append([]string{}, certificate.DNSNames...)
	for _, ip := range certificate.IPAddresses {
		names = append(names, ip.String())
	}
	return names
}

func serverHost(server string) string {
	if parsed, err := url.Parse(server); err == nil {
		return parsed.Hostname()
	}
	return server
}

func serverHostPort(server string) string {
	parsed, err := url.Parse(server)
	if err != nil {
		return server
	}
	if parsed.Port() == "" {
		return net.JoinHostPort(parsed.Hostname(), "443")
	}
	return parsed.Host
}

// formatTime formats a time for messages: in UTC, to the second.
func formatTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }
