// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"net/url"

	"github.com/hcp-node-agent/hcp-node-agent/internal/wait"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Proxy selects the proxy for a request, as http.Transport.Proxy does. A nil
// Proxy uses the environment (HTTPS_PROXY, NO_PROXY).
type Proxy func(*http.Request) (*url.URL, error)

// Conn is a connection to the API server with one credential.
type Conn struct {
	Client *Client
	Server string       // URL
	Clock  *ServerClock // the time of the server, from its responses
	proxy  Proxy
	tls    *tls.Config // how the server certificate is verified; nil without a connection
}

// Connect prepares a connection with the settings of config. It does not modify
// config and sends no request.
func Connect(config *rest.Config, proxy Proxy) (*Conn, error) {
	config = rest.CopyConfig(config)
	clock := &ServerClock{}
	config.Wrap(clock.wrap)
	if proxy != nil {
		config.Proxy = proxy
	}
	client, err := NewClient(config)
	if err != nil {
		return nil, err
	}
	verify, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, fmt.Errorf("preparing the connection to %s: %w", config.Host, err)
	}
	return &Conn{
		Client: client,
		Server: config.Host,
		Clock:  clock,
		proxy:  proxy,
		tls:    verify,
	}, nil
}

// Retry repeats request until it succeeds, fails permanently, or ctx ends. It
// logs every temporary failure, and blocks between attempts.
func (c *Conn) Retry(ctx context.Context, log report.Log, doing string, request func() error) error {
	pause := wait.NewBackoff()
	var last error // the last failure before ctx ended
	for {
		err := request()
		if err == nil {
			return nil
		}
		problem := c.Explain(ctx, err)
		if !problem.Temporary {
			return problem.Failure(doing)
		}
		next := pause.Step()
		if ctx.Err() == nil || last == nil {
			last = problem.Failure(doing)
			log.WaitForRetry("waiting for the API server: "+doing+": "+problem.Message, problem.Remedy, next)
		}
		if wait.Sleep(ctx, next) != nil {
			return report.WaitError(ctx, last)
		}
	}
}

// proxyURL returns the proxy for requests to the server, selected as client-go does.
// It returns nil if there is none.
func (c *Conn) proxyURL() *url.URL {
	choose := c.proxy
	if choose == nil {
		choose = utilnet.NewProxierWithNoProxyCIDR(http.ProxyFromEnvironment)
	}
	proxy, err := choose(&http.Request{URL: c.versionURL()})
	if err != nil {
		return nil // the request itself fails with this error
	}
	return proxy
}
