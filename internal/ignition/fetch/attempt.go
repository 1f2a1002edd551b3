// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/trace"
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
	method := http.MethodGet
	if r.Head {
		method = http.MethodHead
	}
	for range maxRedirects {
		unencrypted = unencrypted || target.Scheme == "http"
		dialed, serverName := *target, ""
		if address != "" {
			dialed.Host, serverName = address, target.Hostname()
		}
		trip := c.newTransport(serverName)
		response, err := roundTrip(ctx, trip, method, &dialed, target, headers)
		if err != nil {
			proxy, _ := c.Proxy.For(&dialed) // an error would be err
			failed := transport.Classify(&dialed, proxy, err)
			failed.AddNote(notes)
			return nil, failed
		}
		next, failed := c.redirect(target, response)
		var got *Response
		if failed == nil && next == nil {
			if got, failed = c.read(response, r.Limit, cancel); failed == nil {
				got.Unencrypted = unencrypted
			}
		}
		response.Body.Close()
		trip.CloseIdleConnections()
		if next == nil {
			return got, failed
		}
		target, headers, address = next, nil, ""
	}
	return nil, redirectError(fmt.Sprintf("the server redirects more than %d times", maxRedirects))
}

// newTransport returns a transport for one request: HTTP/1.1, as the ignition server and Ignition's
// own client. serverName is the name for SNI and in the certificate, empty for the host of the URL.
func (c *Client) newTransport(serverName string) *http.Transport {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	return &http.Transport{
		Proxy:                  func(r *http.Request) (*url.URL, error) { return c.Proxy.For(r.URL) },
		OnProxyConnectResponse: transport.CheckConnect,
		DialContext:            (&net.Dialer{Timeout: dialTimeout}).DialContext,
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
func roundTrip(
	ctx context.Context, trip *http.Transport, method string, dialed, target *url.URL, headers http.Header,
) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, dialed.String(), nil)
	if err != nil {
		return nil, errors.New("invalid URL") // the cause contains the URL
	}
	request.Host = target.Host
	request.Header = http.Header{"Accept": {Accept}, "Accept-Encoding": {"identity"}, "User-Agent": {UserAgent}}
	maps.Copy(request.Header, headers)
	if user := target.User; user != nil && request.Header.Get("Authorization") == "" {
		password, _ := user.Password()
		request.SetBasicAuth(user.Username(), password)
	}
	return trace.Transport(trip).RoundTrip(request)
}

// redirect returns the URL that a response redirects to, nil for none.
func (c *Client) redirect(target *url.URL, response *http.Response) (*url.URL, *transport.Error) {
	redirects := []int{
		http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect,
		http.StatusPermanentRedirect,
	}
	location := response.Header.Get("Location")
	if location == "" || !slices.Contains(redirects, response.StatusCode) {
		return nil, nil // no redirect
	}
	next, err := target.Parse(location)
	if err != nil {
		return nil, redirectError("the server redirects to an invalid URL")
	}
	name := transport.RedactURL(next)
	if next.Scheme != "http" && next.Scheme != "https" || next.Hostname() == "" {
		return nil, redirectError(fmt.Sprintf("the server redirects to %s, which is neither HTTP nor HTTPS", name))
	}
	if c.CheckRedirect != nil {
		if err := c.CheckRedirect(next); err != nil {
			return nil, redirectError(fmt.Sprintf("the server redirects to %s, which is not allowed: %s", name, err))
		}
	}
	return next, nil
}

func redirectError(message string) *transport.Error {
	return &transport.Error{Kind: Redirect, Code: report.Usage, Message: message, Remedy: "# check the URL"}
}

// read reads the whole body. A server that stops sending is canceled after
// stallTimeout.
func (c *Client) read(response *http.Response, limit int64, cancel context.CancelFunc) (*Response, *transport.Error) {
	got := &Response{Size: response.ContentLength, ContentType: response.Header.Get("Content-Type")}
	if date, err := http.ParseTime(response.Header.Get("Date")); err == nil {
		got.Date, got.Skew = date, date.Sub(time.Now().UTC().Truncate(time.Second))
	}
	if status := response.StatusCode; status != http.StatusOK && status != http.StatusNoContent {
		return nil, statusError(response, got.Skew)
	}
	stall := cmp.Or(c.StallTimeout, stallTimeout)
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
