package resolve

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"

	"github.com/coreos/ignition/v2/config/v3_6/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/wire"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// As Ignition, where it has a limit at all.
const (
	accept        = "application/vnd.coreos.ignition+json;version=3.6.0, */*;q=0.1"
	userAgent     = "hcp-node-agent"
	dialTimeout   = 30 * time.Second
	tlsTimeout    = 10 * time.Second
	headerTimeout = 10 * time.Second
	firstPause    = 200 * time.Millisecond
	longestPause  = 5 * time.Second

	defaultBudget = 2 * time.Minute
	tryTimeout    = 10 * time.Minute // of one transfer, without a httpTotal
	stallTimeout  = 30 * time.Second // without a byte in it
	maxRedirects  = 10
)

type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// client fetches with the settings of the configs so far.
type client struct {
	log    report.Log
	budget time.Duration // for tries that begin, without a httpTotal
	total  time.Duration // httpTotal, 0 for none
	pause  time.Duration // before the second try
	stall  time.Duration
	dial   dialer
	pool   *x509.CertPool // nil for the system's alone

	transport *http.Transport
}

// use takes over timeouts and proxy. The certificate authorities stay, for they
// may have to be fetched with the other settings first.
func (c *client) use(ignition types.Ignition) {
	headers := headerTimeout
	c.total = 0
	if t := ignition.Timeouts.HTTPResponseHeaders; t != nil {
		headers = time.Duration(*t) * time.Second
	}
	if t := ignition.Timeouts.HTTPTotal; t != nil {
		c.total = time.Duration(*t) * time.Second
	}
	proxy := httpproxy.Config{HTTPProxy: text(ignition.Proxy.HTTPProxy), HTTPSProxy: text(ignition.Proxy.HTTPSProxy)}
	var direct []string
	for _, item := range ignition.Proxy.NoProxy {
		direct = append(direct, string(item))
	}
	proxy.NoProxy = strings.Join(direct, ",")
	choose := proxy.ProxyFunc()

	c.close()
	var protocols http.Protocols
	protocols.SetHTTP1(true) // Ignition's transport speaks nothing else
	c.transport = &http.Transport{
		Proxy:                  func(r *http.Request) (*url.URL, error) { return choose(r.URL) },
		OnProxyConnectResponse: wire.CheckConnect,
		DialContext:            c.dial,
		TLSClientConfig:        &tls.Config{RootCAs: c.pool, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    tlsTimeout,
		ResponseHeaderTimeout:  headers,
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true, // a hash is of what is served
		Protocols:              &protocols,
	}
}

// trust adds certificate authorities to the system's.
func (c *client) trust(pool *x509.CertPool) {
	c.pool = pool
	c.transport.CloseIdleConnections()
	c.transport = c.transport.Clone()
	c.transport.TLSClientConfig.RootCAs = pool
}

// close leaves no connection behind.
func (c *client) close() {
	if c.transport != nil {
		c.transport.CloseIdleConnections()
	}
}

// fetched is what came of a URL.
type fetched struct {
	body  []byte
	clear bool // some of the way it was not encrypted
}

// get asks until an answer comes, the failure is one that asking again does not
// mend, the time is up, or ctx ends. What went wrong is a *fault.
func (c *client) get(ctx context.Context, source *url.URL, headers http.Header, limit int64) (fetched, error) {
	began, budget, timed := time.Now(), c.budget, ctx
	if c.total > 0 {
		budget = c.total
		var cancel context.CancelFunc
		timed, cancel = context.WithTimeout(ctx, c.total)
		defer cancel()
	}
	deadline := began.Add(budget)
	var last *fault
	for tries := 1; ; tries++ {
		got, err := c.try(timed, source, headers, limit)
		if err == nil {
			return got, nil
		}
		var no *fault
		if !errors.As(err, &no) {
			return fetched{}, err
		}
		if timed.Err() != nil && last != nil {
			no = last // the end of the time cut this try short, and the one before says why it was made
		}
		last = no
		no.tries, no.took = tries, time.Since(began)
		if !no.temporary || timed.Err() != nil || time.Now().After(deadline) {
			return fetched{}, no.ended(ctx)
		}
		next := min(wire.Pause(tries, c.pause, longestPause), time.Until(deadline))
		c.log.Again(fmt.Sprintf("%s: %s; asked again until %s", place(source), no.what, deadline.Format(time.TimeOnly)), no.remedy, next)
		select {
		case <-time.After(next):
		case <-timed.Done():
		}
		if timed.Err() != nil {
			return fetched{}, no.ended(ctx)
		}
	}
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
