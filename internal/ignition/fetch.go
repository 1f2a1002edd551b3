// SPDX-License-Identifier: Apache-2.0

package ignition

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/fetch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/resolve"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/transport"
)

const (
	defaultMaxBytes = 32 << 20         // a payload has about 450 kB
	headerTimeout   = 40 * time.Second // HAProxy, in front of the server, returns 504 after 30 s
	probeTimeout    = 50 * time.Second
)

// Fetcher gets a payload from an ignition server.
type Fetcher struct {
	// ConnectTo is HOST:PORT to dial, or to request from the proxy, instead of the server's
	// address. SNI, the Host header and the name in the certificate remain those of the source
	// URL.
	ConnectTo    string
	Log          report.Log
	RetryTimeout time.Duration // for retries of temporary failures; 0 means two minutes
	// TokenRetryTimeout is the time for retries while the server does not accept the token (HTTP
	// 511); 0 means RetryTimeout.
	TokenRetryTimeout time.Duration

	maxBytes       int64         // of the payload; 0 means defaultMaxBytes
	initialBackoff time.Duration // before the second attempt; 0 means one second
}

// Fetch requests the payload from the server of the user data, with retries. It blocks until the
// payload is served, a failure is not temporary, RetryTimeout has passed, or ctx ends. Resources
// that the payload refers to are fetched, too. Errors are a report.Failure: CredentialRefused
// for an invalid or expired token, Usage for a wrong endpoint or payload, Refused for a server
// that is not trusted or not found, else Failed.
//
// The headers NodePool and TargetConfigVersionHash let the server record the arrival of the node.
func (f Fetcher) Fetch(ctx context.Context, userData *UserData) (*Payload, error) {
	if err := f.check(userData); err != nil {
		return nil, err
	}
	client := f.client(userData)
	client.Check = func(got *fetch.Response) *transport.Error { return checkPayload(userData, got) }
	got, err := client.Get(ctx, fetch.Request{
		Name:    userData.serverKind() + " " + userData.Source.Host,
		URL:     userData.Source,
		Headers: userData.Headers,
		Limit:   cmp.Or(f.maxBytes, defaultMaxBytes),
	})
	if err != nil {
		return nil, fmt.Errorf("fetching the payload from %s: %w", userData.Source.Host, err)
	}
	// Other servers can provide the resources of the payload. Ignition trusts the CAs of this
	// host, of the user data and of the payload for them, and uses the proxy of the user data.
	payload, err := Open(ctx, got.Body, resolve.Options{
		Name: "the payload", Remedy: userData.configRemedy(), Parent: userData.ignitionSettings(),
		Log: f.Log, RetryTimeout: f.RetryTimeout,
	})
	if err != nil {
		return nil, fmt.Errorf("fetching the payload from %s: %w", userData.Source.Host, err)
	}
	payload.Server, payload.Skew = userData.Source.Host, got.Skew
	return payload, nil
}

// Probe is the result of Fetcher.Probe.
type Probe struct {
	Skew      time.Duration // the server's clock minus this host's; 0 for unknown
	Temporary error         // retryable, such as a server that is not up yet
}

// Probe connects to the server of the user data, checks its certificate and, for a hosted cluster,
// whether the server accepts the token. It transfers no payload.
//
// The ignition server handles HEAD as GET, and sends no body. It records the arrival of a node in the
// Secret that the headers NodePool and TargetConfigVersionHash name (HyperShift,
// ignition-server/cmd/start.go), so the request does not have these headers. A machine-config server has
// no tokens: its /healthz is requested.
func (f Fetcher) Probe(ctx context.Context, userData *UserData) (Probe, error) {
	if err := f.check(userData); err != nil {
		return Probe{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, min(probeTimeout, cmp.Or(f.RetryTimeout, probeTimeout)))
	defer cancel()
	got, failed := f.client(userData).Try(ctx, userData.probeRequest())
	switch {
	case failed == nil:
		return Probe{Skew: got.Skew}, nil
	case userData.isStandalone() && (failed.Kind == transport.Status || failed.Kind == fetch.Redirect):
		return Probe{Skew: failed.Skew}, nil
	}
	doing := "connecting to "
	if failed.Kind == transport.Status {
		doing = "checking the token at "
	}
	err := failed.Failure(doing + userData.Source.Host)
	if failed.Temporary {
		return Probe{Skew: failed.Skew, Temporary: err}, nil
	}
	return Probe{Skew: failed.Skew}, err
}

// TryPayload requests the payload once, as a host of a hosted cluster does, and discards it. As for Probe, the server
// records no arrival of a node. An error has a *transport.Error in its chain if a request was sent.
func (f Fetcher) TryPayload(ctx context.Context, userData *UserData) error {
	if err := f.check(userData); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	client := f.client(userData)
	client.Check = func(got *fetch.Response) *transport.Error { return checkPayload(userData, got) }
	if _, failed := client.Try(ctx, userData.tokenRequest()); failed != nil {
		return failed.Failure("requesting the payload from " + userData.Source.Host)
	}
	return nil
}

// probeRequest returns the request of Probe.
func (u *UserData) probeRequest() fetch.Request {
	request := u.tokenRequest()
	if u.isStandalone() {
		health := *u.Source
		health.Path, health.RawQuery = "/healthz", ""
		request.URL, request.Headers = &health, nil
		return request
	}
	request.Head = true
	return request
}

// tokenRequest returns a request for the payload with no other header of the user data than the token.
func (u *UserData) tokenRequest() fetch.Request {
	request := fetch.Request{URL: u.Source, Headers: http.Header{}, Limit: defaultMaxBytes}
	if u.HasToken() {
		request.Headers.Set(headerAuthorization, u.Headers.Get(headerAuthorization))
	}
	return request
}

// check returns an error for invalid user data or an invalid ConnectTo.
func (f Fetcher) check(userData *UserData) error {
	if err := userData.Validate(); err != nil {
		return err
	}
	if _, _, err := net.SplitHostPort(f.ConnectTo); f.ConnectTo != "" && err != nil {
		return report.Fail(report.Usage, "# specify --connect-to as HOST:PORT",
			"--connect-to %q is not HOST:PORT", f.ConnectTo)
	}
	_, err := f.proxy(userData)
	return err
}

// proxy returns the proxy for the server of the user data, nil for none.
func (f Fetcher) proxy(userData *UserData) (*url.URL, error) {
	if _, err := url.Parse(userData.Proxy.HTTPS); err != nil {
		// httpproxy would ignore the URL and connect directly. The cause contains the proxy's
		// password.
		return nil, report.Fail(report.Usage, "# specify the proxy as http://HOST:PORT",
			"the HTTPS proxy in the user data is not a valid URL")
	}
	dialled := *userData.Source
	if f.ConnectTo != "" {
		dialled.Host = f.ConnectTo
	}
	proxy, err := userData.Proxy.For(&dialled)
	if err != nil {
		return nil, fmt.Errorf("selecting the proxy: %w", err)
	}
	if proxy != nil && proxy.Scheme != "http" {
		return nil, report.Fail(report.Usage, "# specify the proxy as http://HOST:PORT; "+
			"the connection through the proxy is still encrypted end to end",
			"the proxy %s is not an HTTP proxy", proxy.Redacted())
	}
	return proxy, nil
}

// client returns a client that trusts only the CAs of the user data.
func (f Fetcher) client(userData *UserData) *fetch.Client {
	return &fetch.Client{
		Log:            f.Log,
		RetryTimeout:   f.RetryTimeout,
		HeaderTimeout:  headerTimeout,
		Roots:          userData.rootCAs(),
		Proxy:          userData.Proxy,
		ConnectTo:      f.ConnectTo,
		CheckRedirect:  config.CheckPayloadURL,
		Explain:        func(e *transport.Error) { f.explain(userData, e) },
		InitialBackoff: f.initialBackoff,
	}
}

// explain adapts a failed request to the server of the user data.
func (f Fetcher) explain(userData *UserData, e *transport.Error) {
	explain(userData, e)
	if e.Status == http.StatusNetworkAuthenticationRequired {
		e.RetryTimeout = f.TokenRetryTimeout
	}
}

// checkPayload distinguishes a truncated payload from a body that is no payload, and reports a
// spec version that was not requested. A server without HAProxy in front of it truncates responses to slow
// readers after ten seconds.
func checkPayload(userData *UserData, got *fetch.Response) *transport.Error {
	var whole json.RawMessage
	err := json.NewDecoder(bytes.NewReader(got.Body)).Decode(&whole)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fetch.NewTruncatedError(got, err)
	case err != nil:
		return &transport.Error{
			Kind: fetch.Unusable, Code: report.Usage, Cause: err,
			Message: fmt.Sprintf("the response (%s) is not JSON: another server than the %s responds at the endpoint",
				contentKind(got), userData.serverKind()),
			Remedy: "# check the endpoint, and proxies or load balancers on the path to it:\n" + userData.endpointRemedy(),
		}
	case userData.isStandalone():
		return checkSpec(userData, got.Body)
	}
	return nil
}

func contentKind(got *fetch.Response) string {
	if bytes.HasPrefix(bytes.TrimSpace(got.Body), []byte("<")) {
		return "a web page"
	}
	return cmp.Or(got.ContentType, "no content type")
}

// DirectAddress returns the address of the server as HOST:PORT, and the TLS configuration for it. It
// reports false if the server is reached through a proxy, or the user data names no server.
func (f Fetcher) DirectAddress(userData *UserData) (address string, trust *tls.Config, ok bool) {
	if userData == nil || userData.Source == nil {
		return "", nil, false
	}
	if proxy, err := f.proxy(userData); err != nil || proxy != nil {
		return "", nil, false
	}
	host := userData.Source.Hostname()
	trust = &tls.Config{RootCAs: userData.rootCAs(), ServerName: host, MinVersion: tls.VersionTLS12}
	return cmp.Or(f.ConnectTo, net.JoinHostPort(host, portOf(userData))), trust, true
}
