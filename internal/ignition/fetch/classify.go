package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Kind is a kind of failure.
type Kind string

// The kinds of failures. TLS failures are not temporary here, whereas Ignition retries them
// forever.
const (
	UnknownName      Kind = "unknown name" // does not exist in DNS
	NoNameServer     Kind = "no name server"
	ProxyRefused     Kind = "proxy refused"
	ProxyUnreachable Kind = "proxy unreachable"
	NoRoute          Kind = "no route"
	Unreachable      Kind = "unreachable" // including a connection that was closed early
	NoTLS            Kind = "no TLS"
	Handshake        Kind = "handshake" // refused by the server
	UnknownAuthority Kind = "unknown authority"
	WrongName        Kind = "wrong name"
	OutsideValidity  Kind = "out of time" // a certificate that has expired or is not valid yet
	Unverified       Kind = "unverified"  // certificate not verified for another reason
	Status           Kind = "status"      // an HTTP status
	Redirect         Kind = "redirect"
	Truncated        Kind = "truncated"
	TooLarge         Kind = "too large"
	Unusable         Kind = "unusable" // a complete body of the wrong kind
)

// Error is a request that failed.
type Error struct {
	Kind      Kind
	Message   string // one clause that follows "fetching URL:"
	Remedy    report.Remedy
	Code      report.Code
	Temporary bool // a retry can succeed
	Cause     error

	Address     string            // HOST:PORT that was dialed
	Host        string            // the unknown name
	Certificate *x509.Certificate // the certificate that was not verified
	Status      int               // the HTTP status
	FirstLine   string            // first line of the response body
	Skew        time.Duration     // the server's clock minus this host's; 0 if unknown

	attempts int
	took     time.Duration
}

func (e *Error) Error() string {
	if e.attempts > 1 {
		return fmt.Sprintf("%s (%d tries in %s)", e.Message, e.attempts, e.took.Round(100*time.Millisecond))
	}
	return e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Failure returns the error with its exit code and remedy.
func (e *Error) Failure() error { return report.Fail(e.Code, e.Remedy, "%w", e) }

// failureOf returns the error with its exit code and remedy. If ctx ended the retries, the error
// includes the reason.
func (e *Error) failureOf(ctx context.Context) error {
	if err := ctx.Err(); err != nil && e.Temporary {
		return report.Fail(e.Code, e.Remedy, "%w; last seen: %w", err, e)
	}
	return e.Failure()
}

// statusError returns the error for an HTTP status other than 200 and 204. As in Ignition,
// statuses from 500 on are temporary; here also 408 and 429, with which a server requests a
// retry.
func statusError(response *http.Response, skew time.Duration) *Error {
	text, _ := io.ReadAll(io.LimitReader(response.Body, 200)) // a body that cannot be read is explained by its status
	line, _, _ := strings.Cut(string(text), "\n")
	status := response.StatusCode
	e := &Error{
		Kind: Status, Code: report.Usage, Status: status, FirstLine: line, Skew: skew,
		Message: fmt.Sprintf("it answers HTTP %d %s", status, http.StatusText(status)), Remedy: "# check the URL in the config",
	}
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		e.Code = report.CredentialRefused
		e.Remedy = "# check the credential in the config (httpHeaders, a signed URL): it may be missing, wrong or expired"
	case status == http.StatusProxyAuthRequired:
		e.Code, e.Message = report.CredentialRefused, "the proxy wants a user and a password (HTTP 407)"
		e.Remedy = "# add them to the proxy's URL in ignition.proxy, or add the host to ignition.proxy.noProxy"
	case status >= 500, status == http.StatusTooManyRequests, status == http.StatusRequestTimeout:
		e.Code, e.Temporary, e.Remedy = report.Failed, true, "# check that the server runs"
	}
	return e
}

// NewTruncatedError returns the error for a response that ended before its announced size.
func NewTruncatedError(got *Response, cause error) *Error {
	received := fmt.Sprintf("%d bytes", len(got.Body))
	if got.Size > 0 {
		received = fmt.Sprintf("%d of %d bytes", len(got.Body), got.Size)
	}
	return &Error{
		Kind: Truncated, Code: report.Failed, Temporary: true, Cause: cause,
		Message: "it stopped sending after " + received, Remedy: "# check the link to the server",
	}
}

// Classify returns the error for a request without a response. The request was sent to target,
// or to address if that is not empty.
func Classify(target *url.URL, address string, err error) *Error {
	e := &Error{Code: report.Failed, Temporary: true, Cause: err, Address: address}
	if e.Address == "" {
		port := target.Port()
		if port == "" {
			port = map[string]string{"http": "80"}[target.Scheme]
		}
		if port == "" {
			port = "443"
		}
		e.Address = net.JoinHostPort(target.Hostname(), port)
	}
	var answer *proxyError
	var name *net.DNSError
	var operation *net.OpError
	isOperation := errors.As(err, &operation)
	switch {
	case errors.As(err, &answer):
		e.Kind, e.Message, e.Code, e.Temporary = ProxyRefused, answer.Error(), report.Refused, answer.status >= 500
		e.Remedy = "# let the proxy connect to it, or add it to ignition.proxy.noProxy of the config that names the proxy"
	case errors.As(err, &name) && name.IsNotFound:
		// Temporary: a network that is only coming up can report the same.
		e.Kind, e.Host, e.Message = UnknownName, name.Name, fmt.Sprintf("the name %s does not exist in DNS", name.Name)
		e.Remedy = report.Remedy("# check the name in the config, and DNS:\ngetent hosts " + name.Name)
	case errors.As(err, &name):
		e.Kind, e.Message = NoNameServer, fmt.Sprintf("no name server answers for %s (%s)", name.Name, name.Err)
		e.Remedy = "# check the name servers of this host: resolvectl status, or cat /etc/resolv.conf"
	case e.classifyTLS(target, err):
		e.Code, e.Temporary = report.Refused, false
	case isOperation && operation.Op == "proxyconnect":
		e.Kind, e.Message = ProxyUnreachable, "the proxy cannot be reached: "+innermost(err).Error()
		e.Remedy = "# check ignition.proxy of the config that names the proxy"
	default:
		e.Kind, e.Message = classifyConnection(e.Address, operation, err)
		e.Remedy = report.Remedy("# check the way to it:\ncurl -v " + RedactURL(target))
		if e.Kind == NoRoute {
			e.Remedy = "# check the routes of this host:\nip route; ip -6 route"
		}
	}
	return e
}

// classifyConnection describes a failure to connect, or a connection that was closed early.
func classifyConnection(to string, operation *net.OpError, err error) (Kind, string) {
	dialling := operation != nil && operation.Op == "dial"
	if dialling && operation.Addr != nil {
		to = fmt.Sprintf("%s (%s)", to, operation.Addr)
	}
	var slow net.Error
	late := errors.As(err, &slow) && slow.Timeout()
	switch {
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return NoRoute, fmt.Sprintf("there is no route to %s", to)
	case errors.Is(err, syscall.ECONNREFUSED):
		return Unreachable, fmt.Sprintf("%s refuses the connection: nothing listens there, or a firewall rejects it", to)
	case dialling && late:
		return Unreachable, fmt.Sprintf("%s does not answer the connection: a firewall drops it, or the address is wrong", to)
	case late, errors.Is(err, context.DeadlineExceeded):
		return Unreachable, fmt.Sprintf("%s took the connection and did not answer in time", to)
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return Unreachable, fmt.Sprintf("%s closed the connection without an answer", to)
	}
	return Unreachable, fmt.Sprintf("asking %s failed: %s", to, innermost(err))
}

// classifyTLS sets the reason if the server is not trusted. It reports false for other errors.
func (e *Error) classifyTLS(target *url.URL, err error) bool {
	var unverified *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var operation *net.OpError
	switch {
	case errors.As(err, &record):
		e.Kind, e.Message, e.Remedy = NoTLS, fmt.Sprintf("%s does not speak TLS", e.Address), "# check the URL in the config"
	case errors.As(err, &unverified):
		e.classifyCertificate(target, unverified)
	case errors.As(err, &operation) && operation.Op == "remote error": // an alert of the server, in crypto/tls
		e.Kind, e.Message = Handshake, fmt.Sprintf("it refuses the TLS handshake: %s", operation.Err)
		e.Remedy = report.Remedyf("# check with:\nopenssl s_client -connect %s -servername %s </dev/null", e.Address, target.Hostname())
	default:
		return false
	}
	return true
}

func (e *Error) classifyCertificate(target *url.URL, unverified *tls.CertificateVerificationError) {
	e.Kind, e.Message, e.Remedy = Unverified, "its certificate cannot be verified: "+unverified.Err.Error(), "# check the server's certificate"
	if len(unverified.UnverifiedCertificates) == 0 {
		return
	}
	e.Certificate = unverified.UnverifiedCertificates[0]
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(unverified.Err, &unknown):
		e.Kind = UnknownAuthority
		e.Message = fmt.Sprintf("its certificate is signed by %q, which neither this host nor the config trusts", e.Certificate.Issuer)
		e.Remedy = "# if it is the right server, add its CA to ignition.security.tls.certificateAuthorities of the config"
	case errors.As(unverified.Err, &name):
		e.Kind = WrongName
		e.Message = fmt.Sprintf("its certificate is for %s and not for %s", CertificateNames(e.Certificate), target.Hostname())
		e.Remedy = "# use the name of its certificate in the URL"
	case errors.As(unverified.Err, &invalid) && invalid.Reason == x509.Expired:
		if invalid.Cert != nil {
			e.Certificate = invalid.Cert
		}
		e.Kind = OutsideValidity
		e.Message, e.Remedy = validityProblem(e.Certificate, time.Now()), "# check this host's clock: timedatectl; chronyc tracking"
	}
}

// innermost returns the innermost cause of an error of net/http or net. The outer errors contain
// the URL and its secrets.
func innermost(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

// proxyError is the response of a proxy that refuses to connect.
type proxyError struct {
	proxy  string // its URL, without a password
	target string // HOST:PORT
	status int
}

func (p *proxyError) Error() string {
	return fmt.Sprintf("the proxy %s refuses to connect to %s: %d %s", p.proxy, p.target, p.status, http.StatusText(p.status))
}

// checkConnect is called with a proxy's response. Without it, net/http returns the text of the
// status alone.
func checkConnect(_ context.Context, proxy *url.URL, request *http.Request, response *http.Response) error {
	if response.StatusCode == http.StatusOK {
		return nil
	}
	return &proxyError{proxy: proxy.Redacted(), target: request.Host, status: response.StatusCode}
}
