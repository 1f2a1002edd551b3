package resolve

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/wire"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// fault is a URL that did not give what was asked for: what happened, as one
// clause that follows "fetching URL:", and what can be done about it.
type fault struct {
	what      string
	remedy    string
	code      report.Code
	temporary bool // asking again can help
	cause     error

	tries int
	took  time.Duration
}

func (f *fault) Error() string {
	if f.tries > 1 {
		return fmt.Sprintf("%s (%d tries in %s)", f.what, f.tries, f.took.Round(100*time.Millisecond))
	}
	return f.what
}

func (f *fault) Unwrap() error { return f.cause }

// ended is what the caller is told: that the wait was broken off, where it was.
func (f *fault) ended(ctx context.Context) error {
	if err := ctx.Err(); err != nil && f.temporary {
		return report.Fail(f.code, f.remedy, "%w; last seen: %w", err, f)
	}
	return report.Fail(f.code, f.remedy, "%w", f)
}

// explainStatus tells what an answer without content means. Ignition asks again
// from 500 on; here also where the server says "later".
func explainStatus(status int) *fault {
	f := &fault{code: report.Usage, what: fmt.Sprintf("it answers HTTP %d %s", status, http.StatusText(status)), remedy: "# check the URL in the config"}
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		f.code = report.CredentialRefused
		f.remedy = "# check what the config gives as proof (httpHeaders, a signed URL): it may be missing, wrong or expired"
	case status == http.StatusProxyAuthRequired:
		f.code, f.what = report.CredentialRefused, "the proxy wants a user and a password (HTTP 407)"
		f.remedy = "# put them into the proxy's URL in ignition.proxy, or name the host in ignition.proxy.noProxy"
	case status >= 500, status == http.StatusTooManyRequests, status == http.StatusRequestTimeout:
		f.code, f.temporary, f.remedy = report.Failed, true, "# see whether the server runs"
	}
	return f
}

// explain tells why no answer came.
func explain(target *url.URL, err error) *fault {
	var known *fault
	var answer *wire.ProxyAnswer
	var name *net.DNSError
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &answer):
		return &fault{
			code: report.Refused, cause: answer, what: answer.Error(), temporary: answer.Status >= 500,
			remedy: "# let the proxy connect to it, or name it in ignition.proxy.noProxy",
		}
	case errors.As(err, &name) && name.IsNotFound:
		return &fault{
			code: report.Failed, cause: name, temporary: true, // a network that is only coming up says so too
			what:   fmt.Sprintf("the name %s does not exist in DNS", name.Name),
			remedy: "# check the name in the config, and DNS:\ngetent hosts " + name.Name,
		}
	case errors.As(err, &name):
		return &fault{
			code: report.Failed, cause: name, temporary: true,
			what:   fmt.Sprintf("no name server answers for %s (%s)", name.Name, name.Err),
			remedy: "# check the name servers of this host: resolvectl status, or cat /etc/resolv.conf",
		}
	}
	if f := explainTLS(target, err); f != nil {
		return f
	}
	return explainConnection(target, err)
}

func explainConnection(target *url.URL, err error) *fault {
	f := &fault{code: report.Failed, temporary: true, cause: err}
	if proxy, _ := wire.Dialled(err); proxy {
		f.what, f.remedy = "the proxy cannot be reached: "+wire.Innermost(err).Error(), "# check ignition.proxy of the config"
		return f
	}
	f.what, f.remedy = wire.Connection(target.Host, err), "# check the way to it:\ncurl -v "+place(target)
	if wire.NoRoute(err) {
		f.remedy = "# check the routes of this host:\nip route; ip -6 route"
	}
	return f
}

// explainTLS tells why the server is not trusted, nil when err is of another
// kind. What does not mend itself is not tried again, while Ignition would go
// on for ever.
func explainTLS(target *url.URL, err error) *fault {
	var unverified *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var operation *net.OpError
	f := &fault{code: report.Refused, cause: err, remedy: "# check the URL in the config"}
	switch {
	case errors.As(err, &record):
		f.what = fmt.Sprintf("%s does not speak TLS", target.Host)
	case errors.As(err, &operation) && operation.Op == "remote error": // how crypto/tls calls an alert of the other side
		f.what = fmt.Sprintf("it refuses the TLS handshake: %s", operation.Err)
	case errors.As(err, &unverified):
		f.what, f.remedy = unverifiable(target, unverified)
	default:
		return nil
	}
	return f
}

func unverifiable(target *url.URL, unverified *tls.CertificateVerificationError) (what, remedy string) {
	what, remedy = "its certificate cannot be verified: "+unverified.Err.Error(), "# check the server's certificate"
	if len(unverified.UnverifiedCertificates) == 0 {
		return what, remedy
	}
	shown := unverified.UnverifiedCertificates[0]
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(unverified.Err, &unknown):
		return fmt.Sprintf("its certificate is signed by %q, which neither this host nor the config trusts", shown.Issuer),
			"# if it is the right server, add its CA to ignition.security.tls.certificateAuthorities of the config"
	case errors.As(unverified.Err, &name):
		return fmt.Sprintf("its certificate is for %s and not for %s", wire.Names(shown), target.Hostname()), "# use the name of its certificate in the URL"
	case errors.As(unverified.Err, &invalid) && invalid.Reason == x509.Expired:
		if invalid.Cert != nil {
			shown = invalid.Cert
		}
		return wire.OutOfTime(shown, time.Now())
	}
	return what, remedy
}
