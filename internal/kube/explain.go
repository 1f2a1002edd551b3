// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/transport"
)

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
func (c *Conn) Explain(ctx context.Context, err error) *transport.Error {
	if e := explainResponse(err); e != nil {
		return e
	}
	e := transport.Classify(c.versionURL(), c.proxyURL(), err)
	if e.Kind == transport.OutsideValidity {
		e = c.explainExpiry(ctx, e)
	}
	e.AddNote(notes)
	e.Code, e.Temporary = report.Failed, true
	return e
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
func (c *Conn) versionURL() *url.URL {
	server, err := url.Parse(c.Server)
	if err != nil { // HOST:PORT, as client-go allows
		server = &url.URL{Scheme: "https", Host: c.Server}
	}
	return server.JoinPath("version")
}
