package ignition

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/wire"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

const (
	tryTimeout    = time.Minute // of one whole request; the server itself gives up writing after 10 s
	dialTimeout   = 10 * time.Second
	headerTimeout = 40 * time.Second // HAProxy, in front of the server, answers 504 after 30 s
	maxRedirects  = 10               // as Ignition

	// HyperShift's server gives every client the same; a machine-config server of
	// a standalone cluster chooses the spec by this: 2.2 without it, and its own
	// newest where it does not know this one. As Ignition does, the newest that
	// can be read is named: an older one would have to hold what the cluster's
	// configs have in a newer.
	accept    = "application/vnd.coreos.ignition+json;version=3.6.0, */*;q=0.1"
	userAgent = "hcp-node-agent"
)

// get sends the request and follows redirects. As in Ignition, the headers,
// and with them the token, go to the first server only.
func (f Fetcher) get(ctx context.Context, stub *Stub) (*http.Response, error) {
	target, headers, connectTo := stub.Source, stub.Headers, f.ConnectTo
	for range maxRedirects {
		response, err := roundTrip(ctx, stub, target, headers, connectTo)
		if err != nil {
			return nil, err
		}
		location := response.Header.Get("Location")
		if response.StatusCode < 300 || response.StatusCode > 399 || location == "" {
			return response, nil
		}
		response.Body.Close()
		next, err := target.Parse(location)
		if err == nil {
			err = checkSource(next)
		}
		if err != nil {
			return nil, &refusal{
				code: report.Refused, remedy: "# check what stands between this host and " + stub.Source.Host,
				what: fmt.Sprintf("it redirects to a place that a payload is not fetched from: %s", err),
			}
		}
		target, headers, connectTo = next, nil, ""
	}
	return nil, &refusal{code: report.Refused, what: "it redirects in a circle", remedy: "# check what stands between this host and " + stub.Source.Host}
}

// roundTrip sends one GET over a connection of its own.
func roundTrip(ctx context.Context, stub *Stub, target *url.URL, headers http.Header, connectTo string) (*http.Response, error) {
	dialled := *target
	if connectTo != "" {
		dialled.Host = connectTo
	}
	transport, err := transportFor(stub, target, &dialled)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, dialled.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("making request: %w", err)
	}
	request.Host = target.Host
	request.Header.Set("User-Agent", userAgent)
	request.Header.Set("Accept", accept)
	request.Header.Set("Accept-Encoding", "identity")
	for name, values := range headers {
		request.Header[name] = values
	}
	client := http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return client.Do(request)
}

// transportFor trusts the stub's CAs alone, speaks HTTP/1.1 (the server knows
// nothing else) and uses the stub's proxy.
func transportFor(stub *Stub, target, dialled *url.URL) (*http.Transport, error) {
	proxy, err := proxyFor(stub.Proxy, dialled)
	if err != nil {
		return nil, err
	}
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	return &http.Transport{
		Proxy:                  http.ProxyURL(proxy),
		OnProxyConnectResponse: wire.CheckConnect,
		DialContext:            (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSClientConfig:        &tls.Config{RootCAs: stub.trust(), ServerName: target.Hostname(), MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    dialTimeout,
		ResponseHeaderTimeout:  headerTimeout,
		MaxResponseHeaderBytes: 64 << 10,
		DisableKeepAlives:      true,
		DisableCompression:     true,
		Protocols:              &protocols,
	}, nil
}

// proxyFor is the proxy that leads to target, nil for none.
func proxyFor(proxy Proxy, target *url.URL) (*url.URL, error) {
	if _, err := url.Parse(proxy.HTTPS); err != nil {
		// httpproxy would pass over it and connect directly. The cause would
		// show the proxy's password.
		return nil, report.Fail(report.Usage, "# give the proxy as http://HOST:PORT", "the https proxy of the stub is not a URL")
	}
	config := httpproxy.Config{HTTPProxy: proxy.HTTP, HTTPSProxy: proxy.HTTPS, NoProxy: strings.Join(proxy.No, ",")}
	chosen, err := config.ProxyFunc()(target)
	if err != nil {
		return nil, fmt.Errorf("choosing proxy: %w", err)
	}
	if chosen != nil && chosen.Scheme != "http" {
		return nil, report.Fail(report.Usage, "# give the proxy as http://HOST:PORT; what passes through it is encrypted end to end all the same",
			"the proxy %s is not an http one", chosen.Redacted())
	}
	return chosen, nil
}
