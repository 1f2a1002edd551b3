package kube

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

// Problem explains why a request failed.
type Problem struct {
	Text      string
	Remedy    report.Remedy
	Code      report.Code
	Permanent bool // retries do not help
}

// Failure returns the error with exit code and remedy for a request that failed
// with err. doing names the activity.
func (p Problem) Failure(doing string, err error) error {
	return report.Fail(p.Code, p.Remedy, "%s: %w", doing, report.DescribedError{Text: p.Text, Err: err})
}

// Explain returns why a request failed. Besides err it considers the server's
// clock and the proxy.
func (c *Conn) Explain(ctx context.Context, err error) Problem {
	if t, known := c.explainExpiry(ctx, err); known {
		return t
	}
	if t, known := explainProxy(err, c.proxyURL(), c.Server); known {
		return t
	}
	return Explain(err, c.Server)
}

// Explain returns the explanation of a failed request.
func Explain(err error, server string) Problem {
	if t, known := explainResponse(err); known {
		return t
	}
	if t, known := explainTLS(err, server); known {
		return t
	}
	return explainConnection(err, server)
}

// explainResponse explains an error response of the API server or of a proxy.
func explainResponse(err error) (Problem, bool) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return Problem{}, false
	}
	text := fmt.Sprintf("the API server answers %d: %s", status.Status().Code,
		strings.TrimSpace(status.Status().Message))
	switch {
	case apierrors.IsUnauthorized(err):
		return Problem{
			Text:      "the API server does not accept this credential (401)",
			Code:      report.CredentialRefused,
			Permanent: true,
			Remedy:    "# get a fresh user-data stub for this cluster and run join again",
		}, true
	case apierrors.IsForbidden(err):
		return Problem{
			Text:      text,
			Code:      report.CredentialRefused,
			Permanent: true,
			Remedy:    "# check the RBAC of the hosted cluster",
		}, true
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsMethodNotSupported(err),
		apierrors.IsNotFound(err):
		return Problem{Text: text, Code: report.Failed, Permanent: true}, true
	}
	return Problem{
		Text: text, Code: report.Failed,
		Remedy: "# look at the hosted control plane's kube-apiserver pods",
	}, true
}

func explainTLS(err error, server string) (Problem, bool) {
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var alert *net.OpError
	var record tls.RecordHeaderError
	remedy := report.Remedy("openssl s_client -connect " + serverHostPort(server) + " -showcerts </dev/null")
	switch {
	case errors.As(err, &authority):
		return Problem{
			Text: "the server at " + server + " has a certificate that this cluster's CA has not signed" +
				describeIssuer(authority.Cert) +
				"; something else answers there (a load balancer, a proxy that opens TLS), or the CA was replaced",
			Remedy: remedy, Code: report.Failed,
		}, true
	case errors.As(err, &name):
		return Problem{
			Text: fmt.Sprintf("the server at %s has a certificate for other names: %s", server,
				strings.Join(CertificateNames(name.Certificate), ", ")),
			Remedy: remedy, Code: report.Failed,
		}, true
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired && invalid.Cert != nil:
		return Problem{
			Text: fmt.Sprintf("the certificate of %s is valid from %s to %s, and this machine's clock says %s",
				server, report.Timestamp(invalid.Cert.NotBefore), report.Timestamp(invalid.Cert.NotAfter),
				report.Timestamp(time.Now())),
			Remedy: "chronyc makestep # if the clock is wrong", Code: report.Failed,
		}, true
	case errors.As(err, &invalid):
		return Problem{
			Text: "the certificate of " + server + " is not valid: " + invalid.Error(), Remedy: remedy,
			Code: report.Failed,
		}, true
	case errors.As(err, &alert) && alert.Op == "remote error":
		return Problem{
			Text:   "the server at " + server + " refused the TLS handshake: " + alert.Err.Error(),
			Remedy: remedy, Code: report.Failed,
		}, true
	case errors.As(err, &record), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return Problem{Text: "the server at " + server + " does not speak TLS", Remedy: remedy, Code: report.Failed}, true
	}
	return Problem{}, false
}

func explainConnection(err error, server string) Problem {
	var dns *net.DNSError
	var network net.Error
	t := Problem{Code: report.Failed, Remedy: report.Remedy("curl -kv " + server + "/version")}
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		t.Text = fmt.Sprintf("the name %s of the API server has no address in DNS", dns.Name)
		t.Remedy = report.Remedy("getent ahosts " + dns.Name)
	case errors.As(err, &dns):
		t.Text = fmt.Sprintf("the name %s of the API server cannot be looked up: %s", dns.Name, dns.Err)
		t.Remedy = report.Remedy("getent ahosts " + dns.Name)
	case errors.Is(err, syscall.ECONNREFUSED):
		t.Text = "nothing listens at " + server + " (connection refused)"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		t.Text = "there is no way to " + server + " (no route to host)"
		t.Remedy = report.Remedy("ip route get $(getent ahosts " + serverHost(server) + " | awk 'NR==1{print $1}')")
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		t.Text = "no answer from " + server + " in time; a firewall that drops packets looks like this"
	default:
		t.Text = "no answer from " + server + ": " + err.Error()
	}
	return t
}

func describeIssuer(certificate *x509.Certificate) string {
	if certificate == nil {
		return ""
	}
	return fmt.Sprintf(" (its issuer is %q)", certificate.Issuer)
}

// CertificateNames returns the DNS names and IP addresses of a certificate.
func CertificateNames(certificate *x509.Certificate) []string {
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
