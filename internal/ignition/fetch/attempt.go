// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/transport"
)

// Try sends a request once and follows redirects.
func (c *Client) Try(ctx context.Context, r Request) (*Response, *transport.Error) {
	response, failed := c.attempt(ctx, r)
	if failed == nil && c.Check != nil {
		failed = c.Check(response)
	}
	if failed != nil && c.Explain != nil {
		c.Explain(failed)
	}
	return response, failed
}

func (c *Client) attempt(ctx context.Context, r Request) (*Response, *transport.Error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	target, headers, address, unencrypted := r.URL, r.Headers, c.ConnectTo, false
	for range maxRedirects {
		unencrypted = unencrypted || target.Scheme == "http"
		dialed, serverName := *target, ""
		if address != "" {
			dialed.Host, serverName = address, target.Hostname()
		}
		trip := c.newTransport(serverName)
		response, err := roundTrip(ctx, trip, &dialed, target, headers)
		if err != nil {
			return nil, c.classify(&dialed, err)
		}
		next, failed := c.redirect(target, response)
		if failed == nil && next == nil {
			var got *Response
			got, failed = c.read(response, r.Limit, cancel)
			if failed == nil {
				got.Unencrypted = unencrypted
			}
			trip.CloseIdleConnections()
			return got, failed
		}
		response.Body.Close()
		trip.CloseIdleConnections()
		if failed != nil {
			return nil, failed
		}
		target, headers, address = next, nil, ""
	}
	return nil, &transport.Error{
		Kind: Redirect, Code: report.Usage, Message: fmt.Sprintf("the server redirects more than %d times", maxRedirects), Remedy: "# check the URL",
	}
}

// classify returns the error of a request without a response.
func (c *Client) classify(server *url.URL, err error) *transport.Error {
	proxy, _ := c.Proxy.For(server) // an error would be err
	failed := transport.Classify(server, proxy, err)
	failed.AddNote(notes)
	return failed
}

// newTransport returns a transport for one request: HTTP/1.1, as the ignition server and Ignition's
// own client. serverName is the name for SNI and in the certificate, empty for the host of the URL.
func (c *Client) newTransport(serverName string) *http.Transport {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	dial := c.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: dialTimeout}).DialContext
	}
	return &http.Transport{
		Proxy:                  func(r *http.Request) (*url.URL, error) { return c.Proxy.For(r.URL) },
		OnProxyConnectResponse: transport.CheckConnect,
		DialContext:            dial,
		TLSClientConfig:        &tls.Config{RootCAs: c.Roots, MinVersion: tls.VersionTLS12, ServerName: serverName},
		TLSHandshakeTimeout:    dialTimeout,
		ResponseHeaderTimeout:  c.HeaderTimeout,
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true, // hashes are of the bytes as served
		Protocols:              &protocols,
	}
}

// roundTrip sends one request. It does not use an http.Client, which would include URLs in
// errors.
func roundTrip(ctx context.Context, trip *http.Transport, dialed, target *url.URL, headers http.Header) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, dialed.String(), nil)
	if err != nil {
		return nil, errors.New("invalid URL") // the cause contains the URL
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
	return trip.RoundTrip(request)
}

// redirect returns the URL that a response redirects to, nil for none.
func (c *Client) redirect(target *url.URL, response *http.Response) (*url.URL, *transport.Error) {
	location := response.Header.Get("Location")
	switch response.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		location = ""
	}
	if location == "" {
		return nil, nil // no redirect
	}
	failed := &transport.Error{Kind: Redirect, Code: report.Usage, Message: "the server redirects to an invalid URL", Remedy: "# check the URL"}
	next, err := target.Parse(location)
	if err != nil {
		return nil, failed
	}
	if next.Scheme != "http" && next.Scheme != "https" || next.Hostname() == "" {
		failed.Message = fmt.Sprintf("the server redirects to %s, which is neither HTTP nor HTTPS", transport.RedactURL(next))
		return nil, failed
	}
	if c.CheckRedirect != nil {
		if err := c.CheckRedirect(next); err != nil {
			failed.Message = fmt.Sprintf("the server redirects to %s, which is not allowed: %s", transport.RedactURL(next), err)
			return nil, failed
		}
	}
	return next, nil
}

// read reads the whole body and closes it. A server that stops sending is canceled after
// stallTimeout.
func (c *Client) read(response *http.Response, limit int64, cancel context.CancelFunc) (*Response, *transport.Error) {
	defer response.Body.Close()
	got := &Response{Size: response.ContentLength, ContentType: response.Header.Get("Content-Type")}
	if date, err := http.ParseTime(response.Header.Get("Date")); err == nil {
		got.Date, got.Skew = date, date.Sub(time.Now().UTC().Truncate(time.Second))
	}
	if status := response.StatusCode; status != http.StatusOK && status != http.StatusNoContent {
		return nil, statusError(response, got.Skew)
	}
	stall := stallTimeout
	if c.StallTimeout > 0 {
		stall = c.StallTimeout
	}
	stalled := time.AfterFunc(stall, cancel)
	defer stalled.Stop()
	var err error
	if got.Body, err = io.ReadAll(io.LimitReader(&stallReader{response.Body, stalled, stall}, limit+1)); err != nil {
		return nil, NewTruncatedError(got, err)
	}
	if int64(len(got.Body)) > limit {
		return nil, &transport.Error{
			Kind: TooLarge, Code: report.Usage, Message: "the response is larger than " + FormatSize(limit),
			Remedy: "# provide large contents in a package or an image",
		}
	}
	return got, nil
}

// stallReader is a reader that restarts a timer with each read.
type stallReader struct {
	io.Reader
	timer   *time.Timer
	timeout time.Duration
}

func (r *stallReader) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	if n > 0 {
		r.timer.Reset(r.timeout)
	}
	return n, err
}

// FormatSize returns a number of bytes as text.
func FormatSize(n int64) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}
