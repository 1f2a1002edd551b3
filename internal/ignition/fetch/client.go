// SPDX-License-Identifier: Apache-2.0

// Package fetch gets payloads, and the resources that configs refer to, over HTTP and HTTPS. It
// has one client, and classifies responses that cannot be used. Failures without a response are
// those of package transport.
//
// Headers are sent to the first server only, as in Ignition, because a redirect can lead to any
// server. The proxy of the environment is not used. No error and no log message contains a
// header, or the user, password, query or fragment of a URL.
package fetch

import (
	"cmp"
	"context"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/wait"

	"golang.org/x/net/http/httpproxy"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/transport"
)

// Accept is the Accept header of each request. HyperShift's server serves the same config to
// every client. The machine-config server of a standalone cluster selects the Ignition spec by
// this header: spec 2.2 without the header, and the server's newest spec for an unknown version.
// The header names the newest spec that can be read, as Ignition does, because an older spec may
// lack settings of the cluster's configs.
const Accept = "application/vnd.coreos.ignition+json;version=3.6.0, */*;q=0.1"

// UserAgent is the User-Agent header of each request.
const UserAgent = "hcp-node-agent"

const (
	defaultRetryTimeout = 2 * time.Minute
	dialTimeout         = 10 * time.Second
	attemptTimeout      = 10 * time.Minute
	stallTimeout        = 30 * time.Second // without a byte of the body
	maxRedirects        = 10               // as Ignition
)

// Client gets resources. The zero value trusts the host's CAs and uses no proxy.
type Client struct {
	Log           report.Log
	RetryTimeout  time.Duration // attempts start within this time; 0 means two minutes
	TotalTimeout  time.Duration // limit for all attempts, replaces RetryTimeout; 0 means no limit
	HeaderTimeout time.Duration // for the response headers of an attempt; 0 means no limit
	Roots         *x509.CertPool
	Proxy         Proxy

	// ConnectTo is HOST:PORT to dial, or to request from the proxy, instead of the first
	// server's address. SNI, the Host header and the name in the certificate remain those of the
	// URL.
	ConnectTo string

	// Hooks, each of which may be nil.
	CheckRedirect func(to *url.URL) error          // returns why a redirect is not allowed
	Check         func(*Response) *transport.Error // returns why a body is not usable
	Explain       func(*transport.Error)           // adapts a failure to the server

	InitialBackoff, StallTimeout time.Duration // shorter in tests
}

// Proxy is the proxy configuration of a config. No has the form of the items of NO_PROXY.
type Proxy struct {
	HTTP, HTTPS string
	No          []string
}

// For returns the proxy for a URL, nil for none.
func (p Proxy) For(target *url.URL) (*url.URL, error) {
	config := httpproxy.Config{HTTPProxy: p.HTTP, HTTPSProxy: p.HTTPS, NoProxy: strings.Join(p.No, ",")}
	return config.ProxyFunc()(target)
}

// Request is a GET or HEAD request.
type Request struct {
	Name    string // of the server, in log messages
	Head    bool   // send HEAD: the response has no body
	URL     *url.URL
	Headers http.Header // replace the default headers of the same name
	Limit   int64       // of the body, in bytes
}

// Response is a response with status 200 or 204.
type Response struct {
	Body        []byte
	Size        int64 // Content-Length, -1 for none
	ContentType string
	Date        time.Time     // the server's clock, zero if unknown
	Skew        time.Duration // Date minus this host's clock
	Unencrypted bool          // at least one server was reached over HTTP
}

// Get sends a request, with retries. It blocks until there is a usable response, a failure is
// not temporary, RetryTimeout or that of a failure has passed, or ctx ends. An error is a report.Failure around a
// *transport.Error.
func (c *Client) Get(ctx context.Context, r Request) (*Response, error) {
	began, limited := time.Now(), ctx
	deadline := began.Add(cmp.Or(c.TotalTimeout, c.RetryTimeout, defaultRetryTimeout))
	if c.TotalTimeout > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithDeadline(ctx, deadline)
		defer cancel()
	}
	pause := pauses{regular: wait.NewBackoff()}
	pause.regular.Duration = cmp.Or(c.InitialBackoff, pause.regular.Duration)
	var last *transport.Error
	for attempt := 1; ; attempt++ {
		attemptBegan := time.Now()
		response, failed := c.Try(limited, r)
		if failed == nil {
			return response, nil
		}
		if limited.Err() == nil || last == nil { // otherwise the timeout interrupted this attempt
			last = failed
		}
		if last.RetryTimeout > 0 {
			if limit := time.Now().Add(last.RetryTimeout); limit.Before(deadline) {
				deadline = limit
			}
		}
		ended := !last.Temporary || limited.Err() != nil || time.Now().After(deadline)
		if !ended {
			next := min(pause.after(last, time.Since(attemptBegan)), time.Until(deadline))
			c.Log.WaitForRetry(fmt.Sprintf("waiting for %s: %s; retrying until %s",
				r.Name, last.Message, report.Timestamp(deadline)), last.Remedy, next)
			ended = wait.Sleep(limited, next) != nil
		}
		if ended {
			return nil, finalError(ctx, last, attempt, time.Since(began))
		}
	}
}
