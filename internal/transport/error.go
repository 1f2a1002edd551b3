// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"crypto/x509"
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

	Address     string            // HOST:PORT of the server
	Name        string            // that DNS does not resolve
	Certificate *x509.Certificate // that was not verified

	// Of a response:
	Status    int           // HTTP status; also that of a proxy
	FirstLine string        // first line of the body
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
