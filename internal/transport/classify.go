// SPDX-License-Identifier: Apache-2.0

// Package transport classifies requests that failed without a response: DNS, connection, proxy,
// TLS and certificate validity. Only Reach sends a request itself. Start reading at Classify.
package transport

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"syscall"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Kind is a kind of failure. Clients define more kinds for the responses of their servers.
type Kind string

// The kinds of failures.
const (
	UnknownName         Kind = "unknown name"   // does not exist in DNS
	NoNameServer        Kind = "no name server" // or one that returns an error
	ProxyUnreachable    Kind = "proxy unreachable"
	ProxyRefused        Kind = "proxy refused"
	ProxyAuthentication Kind = "proxy authentication" // HTTP 407
	NoRoute             Kind = "no route"
	Unreachable         Kind = "unreachable" // including a connection that was closed early
	NoTLS               Kind = "no TLS"
	Handshake           Kind = "handshake" // refused by the server
	UnknownAuthority    Kind = "unknown authority"
	WrongName           Kind = "wrong name"
	OutsideValidity     Kind = "outside validity" // a certificate that has expired or is not valid yet
	Unverified          Kind = "unverified"       // certificate not verified for another reason
	Status              Kind = "status"           // an HTTP status
)

// Error is a request that failed.
type Error struct {
	Kind      Kind
	Message   string // a clause that follows the activity and a colon
	Remedy    report.Remedy
	Code      report.Code
	Temporary bool // a retry can succeed
	Cause     error
	// RetryTimeout limits the retries from the first such failure on; 0 means no limit of its own.
	RetryTimeout time.Duration

	Address     string            // HOST:PORT of the server
	Name        string            // that DNS does not resolve
	Certificate *x509.Certificate // that was not verified

	// Of a response:
	Status    int           // HTTP status; also that of a proxy
	FirstLine string        // first line of the body
	Received  int           // bytes of the body of a transfer that was aborted
	Skew      time.Duration // the server's clock minus this host's; 0 if unknown
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Failure returns the error with its exit code and remedy. doing names the activity that failed.
func (e *Error) Failure(doing string) error { return report.Fail(e.Code, e.Remedy, "%s: %w", doing, e) }

// AddNote puts the note for the kind of the failure, a shell comment, before the commands of the
// remedy.
func (e *Error) AddNote(notes map[Kind]report.Remedy) {
	if note := notes[e.Kind]; note != "" {
		e.Remedy = note + "\n" + e.Remedy
	}
}

// Classify returns why a request to server got no response. proxy is the proxy of the request, nil
// for none. The remedy is a command that shows the failure; callers add what to change. Failures of
// TLS, and of a proxy that rejects the request, are not temporary. Neither the message nor the
// remedy contains a user, password, query or fragment of a URL.
func Classify(server, proxy *url.URL, err error) *Error {
	e := &Error{Code: report.Failed, Temporary: true, Cause: err, Address: hostPort(server)}
	var name *net.DNSError
	switch {
	case e.classifyProxy(server, proxy, err):
	case errors.As(err, &name):
		e.Kind, e.Name, e.Remedy = NoNameServer, name.Name, report.Remedy("getent ahosts "+name.Name)
		e.Message = fmt.Sprintf("the name %s cannot be resolved: %s", name.Name, name.Err)
		if name.IsNotFound {
			// Temporary: a network that is only coming up can report the same.
			e.Kind, e.Message = UnknownName, fmt.Sprintf("the name %s does not exist in DNS", name.Name)
		}
	case e.classifyTLS(server.Hostname(), err):
	default:
		e.classifyConnection(server, err)
	}
	return e
}

// classifyConnection sets the reason for a failure to connect, or for a connection without a
// response.
func (e *Error) classifyConnection(server *url.URL, err error) {
	to, cause := e.Address, innermost(err)
	var operation *net.OpError
	dialing := errors.As(err, &operation) && operation.Op == "dial"
	if dialing && operation.Addr != nil && operation.Addr.String() != to {
		to = fmt.Sprintf("%s (%s)", to, operation.Addr)
	}
	var network net.Error
	timeout := errors.As(err, &network) && network.Timeout()
	e.Kind, e.Remedy = Unreachable, report.Remedy("curl -kvm 20 "+RedactURL(server))
	switch {
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		e.Kind, e.Message = NoRoute, "no route to "+to
		e.Remedy = report.Remedyf("ip route get $(getent ahosts %s | awk 'NR==1{print $1}')", server.Hostname())
	case errors.Is(err, syscall.ECONNREFUSED):
		e.Message = to + " refused the connection: no service listens on the port, or a firewall rejects it"
	case dialing && timeout:
		e.Message = fmt.Sprintf("connecting to %s timed out: a firewall may be dropping packets, or the address is wrong", to)
	case cause == context.DeadlineExceeded: //nolint:errorlint // net/http's later timeouts match it too
		e.Message = to + " did not respond in time; a firewall may be dropping packets"
	case timeout:
		e.Message = to + " accepted the connection and did not respond in time"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		e.Message = to + " closed the connection without a response"
	default:
		e.Message = fmt.Sprintf("the request to %s failed: %s", to, cause)
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

// hostPort returns the HOST:PORT of a URL.
func hostPort(server *url.URL) string {
	port := server.Port()
	switch {
	case port != "":
	case server.Scheme == "http":
		port = "80"
	default:
		port = "443"
	}
	return net.JoinHostPort(server.Hostname(), port)
}

// RedactURL returns a URL without parts that may be secret: user, password, query and fragment.
func RedactURL(u *url.URL) string {
	shown := *u
	shown.User, shown.RawQuery, shown.ForceQuery = nil, "", false
	shown.Fragment, shown.RawFragment = "", ""
	return shown.String()
}
