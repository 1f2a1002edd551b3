// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
)

// Reach connects to a server of which this host has neither the CA nor a client certificate, through its proxy
// if it has one. It returns nil if a TLS handshake succeeds, or the server refuses it, and otherwise why
// there was no handshake. The certificate is not verified, so nothing secret may be sent: the request
// has no credential.
func Reach(ctx context.Context, server *url.URL, proxyFor func(*url.URL) (*url.URL, error)) *Error {
	proxy, err := proxyFor(server)
	if err != nil {
		return Classify(server, nil, err)
	}
	var isEncrypted atomic.Bool
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		TLSHandshakeDone: func(_ tls.ConnectionState, err error) { isEncrypted.Store(err == nil) },
	})
	request, err := http.NewRequestWithContext(traced, http.MethodHead, server.String(), nil)
	if err != nil {
		return Classify(server, proxy, err)
	}
	trip := &http.Transport{
		Proxy:                  http.ProxyURL(proxy),
		OnProxyConnectResponse: CheckConnect,
		TLSClientConfig:        &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // see above
		DisableKeepAlives:      true,
		ForceAttemptHTTP2:      true, // a gRPC server requires it
	}
	response, err := trip.RoundTrip(request)
	if err == nil {
		response.Body.Close()
		return nil
	}
	if failed := Classify(server, proxy, err); !isEncrypted.Load() && failed.Kind != Handshake {
		return failed
	}
	return nil
}
