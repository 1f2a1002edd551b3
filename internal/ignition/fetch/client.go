// Package fetch gets payloads, and the resources that configs refer to, over HTTP and HTTPS: one client with one retry
// policy and one classification of failures.
//
// Headers are sent to the first server only, as in Ignition: a redirect can lead anywhere. The environment's proxy is
// not used. No error and no log message contains a header, or the user, password, query or fragment of a URL.
package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Accept is the Accept header of each request. HyperShift's server serves the same config to every client. The
// machine-config server of a standalone cluster selects the Ignition spec by this header: spec 2.2 without the header,
// and the server's newest spec for an unknown version. The header names the newest spec that can be read, as Ignition
// does, because an older spec may lack settings of the cluster's configs.
const Accept = "application/vnd.coreos.ignition+json;version=3.6.0, */*;q=0.1"

// UserAgent is the User-Agent header of each request.
const UserAgent = "hcp-node-agent"

const (
	defaultBudget  = 2 * time.Minute
	firstPause     = time.Second
	maxPause       = 15 * time.Second
	dialTimeout    = 10 * time.Second
	attemptTimeout = 10 * time.Minute
	stallTimeout   = 30 * time.Second // without a byte of the body
	maxRedirects   = 10               // as Ignition
)

// Client gets resources. The zero value trusts the host's CAs and uses no proxy.
type Client struct {
	Log           report.Log
	Budget        time.Duration // attempts begin during this time; 0 is two minutes
	Total         time.Duration // all attempts end after this time, and the budget does not count; 0 is no limit
	HeaderTimeout time.Duration // of the response headers of an attempt; 0 is no limit
	Roots         *x509.CertPool
	Proxy         Proxy

	// ConnectTo is HOST:PORT to dial, or to request from the proxy, instead of the first server's address. SNI, the
	// Host header and the name in the certificate remain those of the URL.
	ConnectTo string

	AllowRedirect func(to *url.URL) error // may be nil
	Check         func(*Response) *Error  // reports why a body is not usable; may be nil
	Explain       func(*Error)            // may replace the text, the remedy, the exit code and Temporary; may be nil

	// Shorter times and another destination, for tests.
	Pause, Stall time.Duration
	Dial         func(ctx context.Context, network, address string) (net.Conn, error)
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

// Request is a GET request.
type Request struct {
	Name    string // of the server, in log messages
	URL     *url.URL
	Headers http.Header // replace the default headers of the same name
	Limit   int64       // of the body, in bytes
}

// Response is a response with status 200 or 204.
type Response struct {
	Body        []byte
	Size        int64 // that the server announced, -1 for none
	ContentType string
	Date        time.Time     // the server's clock, zero for unknown
	Skew        time.Duration // Date minus this host's clock
	Unencrypted bool          // some of the servers were reached by http
}

// Get sends a request until there is a usable response, a failure that is not temporary, the end of the budget, or the
// end of ctx. An error is a report.Failure around an *Error.
func (c *Client) Get(ctx context.Context, r Request) (*Response, error) {
	began, budget, limited := time.Now(), c.Budget, ctx
	if budget == 0 {
		budget = defaultBudget
	}
	if c.Total > 0 {
		budget = c.Total
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, c.Total)
		defer cancel()
	}
	deadline := began.Add(budget)
	var last *Error
	for attempt := 1; ; attempt++ {
		response, failed := c.Try(limited, r)
		if failed == nil {
			return response, nil
		}
		if limited.Err() != nil && last != nil {
			failed = last // the end of the time interrupted this attempt; the last failure is the reason for it
		}
		last = failed
		failed.attempts, failed.took = attempt, time.Since(began)
		if !failed.Temporary || limited.Err() != nil || time.Now().After(deadline) {
			return nil, failed.failure(ctx)
		}
		next := min(c.pause(attempt), time.Until(deadline))
		c.Log.Again(fmt.Sprintf("%s: %s; retrying until %s", r.Name, failed.What, deadline.Format(time.TimeOnly)), failed.Remedy, next)
		select {
		case <-time.After(next):
		case <-limited.Done():
			return nil, failed.failure(ctx)
		}
	}
}

// pause returns the time to wait after a number of attempts. The time doubles up to maxPause, and half of it is random:
// hosts that booted together must not send their requests together.
func (c *Client) pause(attempts int) time.Duration {
	pause := firstPause
	if c.Pause > 0 {
		pause = c.Pause
	}
	for range attempts - 1 {
		if pause = min(2*pause, maxPause); pause == maxPause {
			break
		}
	}
	return pause/2 + rand.N(pause/2+1) //nolint:gosec // jitter needs no secrecy
}

// Try sends a request once and follows redirects.
func (c *Client) Try(ctx context.Context, r Request) (*Response, *Error) {
	response, failed := c.try(ctx, r)
	if failed == nil && c.Check != nil {
		failed = c.Check(response)
	}
	if failed != nil && c.Explain != nil {
		c.Explain(failed)
	}
	return response, failed
}

func (c *Client) try(ctx context.Context, r Request) (*Response, *Error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	target, headers, address, unencrypted := r.URL, r.Headers, c.ConnectTo, false
	for range maxRedirects {
		unencrypted = unencrypted || target.Scheme == "http"
		transport := c.transport(target, address)
		response, err := roundTrip(ctx, transport, target, headers, address)
		if err != nil {
			return nil, Classify(target, address, err)
		}
		next, failed := c.redirect(target, response)
		if failed == nil && next == nil {
			var got *Response
			got, failed = c.read(response, r.Limit, cancel)
			if failed == nil {
				got.Unencrypted = unencrypted
			}
			transport.CloseIdleConnections()
			return got, failed
		}
		response.Body.Close()
		transport.CloseIdleConnections()
		if failed != nil {
			return nil, failed
		}
		target, headers, address = next, nil, ""
	}
	return nil, &Error{
		Kind: Redirect, Code: report.Usage, What: fmt.Sprintf("it redirects more than %d times", maxRedirects), Remedy: "# check the URL",
	}
}

// transport returns a transport for one request: HTTP/1.1, as the ignition server and Ignition's own client.
func (c *Client) transport(target *url.URL, address string) *http.Transport {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	config := &tls.Config{RootCAs: c.Roots, MinVersion: tls.VersionTLS12}
	if address != "" {
		config.ServerName = target.Hostname()
	}
	dial := c.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: dialTimeout}).DialContext
	}
	return &http.Transport{
		Proxy:                  func(r *http.Request) (*url.URL, error) { return c.Proxy.For(r.URL) },
		OnProxyConnectResponse: checkConnect,
		DialContext:            dial,
		TLSClientConfig:        config,
		TLSHandshakeTimeout:    dialTimeout,
		ResponseHeaderTimeout:  c.HeaderTimeout,
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true, // a hash is that of the served bytes
		Protocols:              &protocols,
	}
}

// roundTrip does not use an http.Client, which would put URLs into its errors.
func roundTrip(ctx context.Context, transport *http.Transport, target *url.URL, headers http.Header, address string) (*http.Response, error) {
	dialled := *target
	if address != "" {
		dialled.Host = address
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, dialled.String(), nil)
	if err != nil {
		return nil, errors.New("the URL cannot be requested") // the cause contains the URL
	}
	request.Host = target.Host
	request.Header = http.Header{"Accept": {Accept}, "Accept-Encoding": {"identity"}, "User-Agent": {UserAgent}}
	for name, values := range headers {
		request.Header[name] = values
	}
	if user := target.User; user != nil && request.Header.Get("Authorization") == "" {
		password, _ := user.Password()
		request.SetBasicAuth(user.Username(), password)
	}
	return transport.RoundTrip(request)
}

// redirect returns the URL that a response redirects to, nil for none.
func (c *Client) redirect(target *url.URL, response *http.Response) (*url.URL, *Error) {
	location := response.Header.Get("Location")
	switch response.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		location = ""
	}
	if location == "" {
		return nil, nil //nolint:nilnil // no redirect
	}
	failed := &Error{Kind: Redirect, Code: report.Usage, Remedy: "# check the URL"}
	next, err := target.Parse(location)
	switch {
	case err != nil:
		failed.What = "it redirects to what is no URL"
	case next.Scheme != "http" && next.Scheme != "https" || next.Hostname() == "":
		failed.What = fmt.Sprintf("it redirects to %s, which is neither http nor https", Place(next))
	case c.AllowRedirect != nil && c.AllowRedirect(next) != nil:
		failed.What = fmt.Sprintf("it redirects to a place that a payload is not fetched from: %s", c.AllowRedirect(next))
	default:
		return next, nil
	}
	return nil, failed
}

// read reads the whole body and closes it. A server that stops sending is canceled after stallTimeout.
func (c *Client) read(response *http.Response, limit int64, cancel context.CancelFunc) (*Response, *Error) {
	defer response.Body.Close()
	got := &Response{Size: response.ContentLength, ContentType: response.Header.Get("Content-Type")}
	if date, err := http.ParseTime(response.Header.Get("Date")); err == nil {
		got.Date, got.Skew = date, date.Sub(time.Now().UTC().Truncate(time.Second))
	}
	if status := response.StatusCode; status != http.StatusOK && status != http.StatusNoContent {
		return nil, statusError(response, got.Skew)
	}
	stall := stallTimeout
	if c.Stall > 0 {
		stall = c.Stall
	}
	stalled := time.AfterFunc(stall, cancel)
	defer stalled.Stop()
	var err error
	if got.Body, err = io.ReadAll(io.LimitReader(&progress{response.Body, stalled, stall}, limit+1)); err != nil {
		return nil, Cut(got, err)
	}
	if int64(len(got.Body)) > limit {
		return nil, &Error{
			Kind: TooLarge, Code: report.Usage, What: "what it sends has more than " + Size(limit),
			Remedy: "# put large contents into a package or an image",
		}
	}
	return got, nil
}

// progress is a reader that restarts a timer with each read.
type progress struct {
	io.Reader
	timer *time.Timer
	limit time.Duration
}

func (p *progress) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	if n > 0 {
		p.timer.Reset(p.limit)
	}
	return n, err
}

// Place returns a URL without parts that may be secret: user, password, query and fragment.
func Place(u *url.URL) string {
	shown := *u
	shown.User, shown.RawQuery, shown.ForceQuery = nil, "", false
	shown.Fragment, shown.RawFragment = "", ""
	return shown.String()
}

// Size returns a number of bytes as text.
func Size(n int64) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}
