// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/transport"
)

// The kinds of failures of a response, besides transport.Status.
const (
	Redirect  transport.Kind = "redirect"
	Truncated transport.Kind = "truncated"
	TooLarge  transport.Kind = "too large"
	Unusable  transport.Kind = "unusable" // a complete body of the wrong kind
)

// proxyUserNote is the note for a proxy that requires authentication.
const proxyUserNote = "# add the user name and password to the proxy URL in ignition.proxy, " +
	"or add the host to ignition.proxy.noProxy"

// notes are the notes for failures without a response. TLS failures are not temporary here, whereas
// Ignition retries them forever.
var notes = map[transport.Kind]report.Remedy{
	transport.UnknownName:  "# check the host name in the config, and DNS",
	transport.NoNameServer: "# check the name servers of this host: resolvectl status or cat /etc/resolv.conf",
	transport.ProxyRefused: "# allow the connection in the proxy, " +
		"or add the host to ignition.proxy.noProxy in the config that sets the proxy",
	transport.ProxyAuthentication: proxyUserNote,
	transport.ProxyUnreachable:    "# check ignition.proxy in the config that sets the proxy",
	transport.NoTLS:               "# check the URL in the config",
	transport.UnknownAuthority: "# if the server is correct, " +
		"add its CA to ignition.security.tls.certificateAuthorities in the config",
	transport.WrongName: "# use the host name in the server's certificate in the URL",
}

// finalError returns the error of the last attempt with its exit code and remedy. If ctx ended the
// retries, the error includes the reason.
func finalError(ctx context.Context, last *transport.Error, attempts int, took time.Duration) error {
	var err error = last
	if attempts > 1 {
		err = fmt.Errorf("%w (%d attempts in %s)", last, attempts, took.Round(100*time.Millisecond))
	}
	if ended := ctx.Err(); ended != nil && last.Temporary {
		err = fmt.Errorf("%w; last error: %w", ended, err)
	}
	return report.Fail(last.Code, last.Remedy, "%w", err)
}

// statusError returns the error for an HTTP status other than 200 and 204. As in Ignition,
// statuses from 500 on are temporary; here also 408 and 429, with which a server requests a
// retry.
func statusError(response *http.Response, skew time.Duration) *transport.Error {
	text, _ := io.ReadAll(io.LimitReader(response.Body, 200)) // a body that cannot be read is explained by its status
	line, _, _ := strings.Cut(string(text), "\n")
	status := response.StatusCode
	e := &transport.Error{
		Kind: transport.Status, Code: report.Usage, Status: status, FirstLine: line, Skew: skew,
		Message: fmt.Sprintf("the server returns HTTP %d %s", status, http.StatusText(status)),
		Remedy:  "# check the URL in the config",
	}
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		e.Code = report.CredentialRefused
		e.Remedy = "# check the credential in the config (httpHeaders or a signed URL): it may be missing, wrong or expired"
	case status == http.StatusProxyAuthRequired:
		e.Code, e.Message = report.CredentialRefused, "the proxy requires a user name and a password (HTTP 407)"
		e.Remedy = proxyUserNote
	case status >= 500, status == http.StatusTooManyRequests, status == http.StatusRequestTimeout:
		e.Code, e.Temporary, e.Remedy = report.Failed, true, "# check that the server is running"
	}
	return e
}

// NewTruncatedError returns the error for a response that ended before its announced size.
func NewTruncatedError(got *Response, cause error) *transport.Error {
	received := fmt.Sprintf("%d bytes", len(got.Body))
	if got.Size > 0 {
		received = fmt.Sprintf("%d of %d bytes", len(got.Body), got.Size)
	}
	return &transport.Error{
		Kind: Truncated, Code: report.Failed, Temporary: true, Cause: cause,
		Message: "the transfer ended after " + received, Remedy: "# check the network connection to the server",
		Received: len(got.Body),
	}
}

// CheckCA returns an error unless text is a PEM bundle whose first certificate can be parsed.
// Text between and after the certificates, and blocks of other types, are ignored, as by
// x509.CertPool.
func CheckCA(text []byte) error {
	for rest := text; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return errors.New("no PEM certificate found")
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return fmt.Errorf("parsing the certificate: %w", err)
		}
		return nil
	}
}
