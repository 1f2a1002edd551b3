// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/trace"
	"github.com/hcp-node-agent/hcp-node-agent/internal/transport"
)

// Proxy selects the proxy for a request, as http.Transport.Proxy does. A nil
// Proxy uses the environment (HTTPS_PROXY, NO_PROXY).
type Proxy func(*http.Request) (*url.URL, error)

// Endpoint is an API server, and how a client connects to it.
type Endpoint struct {
	Server string       // URL
	Clock  *ServerClock // the time of the server, from its responses
	proxy  Proxy
	tls    *tls.Config // how the server certificate is verified; nil without a connection
}

// NewEndpoint prepares config for the clients of its API server: the endpoint records the time in their responses. It
// sends no request.
func NewEndpoint(config *rest.Config, proxy Proxy) (Endpoint, error) {
	clock := &ServerClock{}
	config.Wrap(clock.wrap)
	config.Wrap(trace.Transport)
	if proxy != nil {
		config.Proxy = proxy
	}
	verify, err := rest.TLSConfigFor(config)
	if err != nil {
		return Endpoint{}, fmt.Errorf("preparing the connection to %s: %w", config.Host, err)
	}
	return Endpoint{Server: config.Host, Clock: clock, proxy: proxy, tls: verify}, nil
}

// proxyURL returns the proxy for requests to the server, selected as client-go does.
// It returns nil if there is none.
func (e *Endpoint) proxyURL() *url.URL {
	choose := e.proxy
	if choose == nil {
		choose = utilnet.NewProxierWithNoProxyCIDR(http.ProxyFromEnvironment)
	}
	proxy, err := choose(&http.Request{URL: e.versionURL()})
	if err != nil {
		return nil // the request itself fails with this error
	}
	return proxy
}

// notes are the notes for failures without a response. The proxy of the API server is that of the
// environment.
var notes = map[transport.Kind]report.Remedy{
	transport.ProxyUnreachable: "# check HTTPS_PROXY and NO_PROXY in this command's environment",
	transport.ProxyRefused:     "# allow CONNECT to the API server in the proxy, or add the API server's host to NO_PROXY",
	transport.ProxyAuthentication: "# set HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT, or add the API server's host " +
		"to NO_PROXY",
	transport.UnknownAuthority: "# another server responds there (a load balancer, a proxy that intercepts TLS), " +
		"or the cluster's CA was replaced",
}

// Explain returns why a request failed. Besides err it considers the server's
// clock and the proxy. Every failure without a response is temporary, because the
// control plane or what is in front of it can be under repair.
func (e *Endpoint) Explain(ctx context.Context, err error) *transport.Error {
	if problem := explainResponse(err); problem != nil {
		return problem
	}
	problem := transport.Classify(e.versionURL(), e.proxyURL(), err)
	if problem.Kind == transport.OutsideValidity {
		problem = e.explainExpiry(ctx, problem)
	}
	problem.AddNote(notes)
	problem.Code, problem.Temporary = report.Failed, true
	return problem
}

// explainResponse explains an error response of the API server, or of what is in
// front of it. It returns nil for other errors.
func explainResponse(err error) *transport.Error {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return nil
	}
	e := &transport.Error{Kind: transport.Status, Code: report.Failed, Cause: err, Status: int(status.Status().Code)}
	e.Message = fmt.Sprintf("the API server responded with HTTP %d: %s", e.Status,
		strings.TrimSpace(status.Status().Message))
	switch {
	case apierrors.IsUnauthorized(err):
		e.Code, e.Message = report.CredentialRefused, "the API server rejects this credential (HTTP 401)"
		e.Remedy = "# run join again with current user data of this cluster"
	case apierrors.IsForbidden(err):
		e.Code, e.Remedy = report.CredentialRefused, "# check the RBAC of the hosted cluster"
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsMethodNotSupported(err),
		apierrors.IsNotFound(err):
	default:
		e.Temporary, e.Remedy = true, "# check the hosted control plane's kube-apiserver pods"
	}
	return e
}

// versionURL returns the URL of the server's version, which needs no credential.
func (e *Endpoint) versionURL() *url.URL {
	server, err := url.Parse(e.Server)
	if err != nil { // HOST:PORT, as client-go allows
		server = &url.URL{Scheme: "https", Host: e.Server}
	}
	return server.JoinPath("version")
}
