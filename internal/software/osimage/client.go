// SPDX-License-Identifier: Apache-2.0

package osimage

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/trace"
	"github.com/hcp-node-agent/hcp-node-agent/internal/wait"
)

// Maximum times of a connection, and of one without requests.
const (
	connectTimeout  = 15 * time.Second
	responseTimeout = 30 * time.Second
	idleTimeout     = time.Minute
)

// Client reads images.
type Client struct {
	RegistriesConf []byte            // registries.conf in format 2; empty: there are no mirrors
	DropIns        map[string][]byte // the files in registries.conf.d, by name
	PullSecret     []byte            // in the format of .dockerconfigjson; empty: there is none
	Roots          *x509.CertPool    // nil: those of the system
	Proxy          func(*url.URL) (*url.URL, error)
	Arch           string // architecture of the images, in Go's notation
	Log            report.Log
}

// Image is an image for the architecture of the client. Its config and layers are read on demand,
// and are verified with the digests in its manifest.
type Image struct {
	v1.Image
	PullSpec string // as it was requested
	Source   string // pull spec that was read: that of a mirror or of the registry itself

	client    *Client
	source    source
	reference name.Digest
}

// openAttempts is the maximum number of attempts to read a manifest over a link that is interrupted. They bridge about
// three seconds.
const openAttempts = 3

// Open reads the manifest of an image. A pull spec must contain the digest. Open tries each mirror,
// then the registry itself, and returns an error with the failures of all. It tries again if a connection was
// interrupted.
func (c *Client) Open(ctx context.Context, pullSpec string) (*Image, error) {
	sources, err := c.sources(pullSpec)
	if err != nil {
		return nil, err
	}
	for pause, attempt := wait.NewBackoff(), 1; ; attempt++ {
		image, failures := c.openAny(ctx, sources)
		if image != nil {
			image.PullSpec = pullSpec
			return image, nil
		}
		if errors.Is(ctx.Err(), context.Canceled) {
			return nil, ctx.Err()
		}
		if attempt == openAttempts || !slices.ContainsFunc(failures, isInterruption) {
			last := failures[len(failures)-1]
			return nil, report.Fail(report.CodeOf(last), report.RemedyOf(last), "reading image %s: %s",
				pullSpec, strings.Join(lists.Map(failures, error.Error), "; "))
		}
		if err := wait.Sleep(ctx, pause.Step()); err != nil {
			return nil, err
		}
	}
}

// openAny reads the manifest of an image from the first source that has it, or returns the failures of all sources.
func (c *Client) openAny(ctx context.Context, sources []source) (*Image, []error) {
	var failures []error
	for _, source := range sources {
		c.Log.Wait("waiting for registry "+source.host(), "")
		image, err := c.open(ctx, source)
		if err == nil || errors.Is(ctx.Err(), context.Canceled) {
			return image, nil
		}
		failures = append(failures, err)
	}
	return nil, failures
}

// isInterruption reports whether a link that is interrupted, or a registry that restarts, can be the cause of a failed
// request.
func isInterruption(err error) bool {
	for _, cause := range []error{
		syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.ENETUNREACH, syscall.EHOSTUNREACH, syscall.EPIPE, io.EOF,
		io.ErrUnexpectedEOF,
	} {
		if errors.Is(err, cause) {
			return true
		}
	}
	return false
}

// isTimeout reports whether a request took longer than its limit, which is not that of ctx.
func isTimeout(ctx context.Context, err error) bool {
	var failure net.Error
	return ctx.Err() == nil && errors.As(err, &failure) && failure.Timeout()
}

// open reads the manifest of an image from one source. Later requests to a source that has responded are sent again
// after an interruption, and after a timeout. The first one is not sent again after a timeout: a mirror whose firewall
// drops packets would delay the next source by three of them.
func (c *Client) open(ctx context.Context, s source) (*Image, error) {
	var options []name.Option
	if s.Endpoint.Insecure {
		options = append(options, name.Insecure)
	}
	reference, err := name.NewDigest(s.Reference.String(), options...)
	if err != nil {
		return nil, fmt.Errorf("parsing pull spec %s: %w", s.Reference, err)
	}
	hasResponded := false
	image, err := remote.Image(reference,
		remote.WithRetryPredicate(func(err error) bool {
			return hasResponded && (isInterruption(err) || isTimeout(ctx, err))
		}),
		remote.WithContext(ctx),
		remote.WithAuth(authn.FromConfig(s.login)),
		remote.WithTransport(c.transport(s.Endpoint.Insecure)),
		remote.WithPlatform(v1.Platform{OS: "linux", Architecture: c.Arch}),
	)
	if err != nil {
		return nil, c.explain(s, err)
	}
	hasResponded = true
	return &Image{Image: image, Source: s.Reference.String(), client: c, source: s, reference: reference}, nil
}

// ConfigFile returns the config of the image.
func (i *Image) ConfigFile() (*v1.ConfigFile, error) {
	config, err := i.Image.ConfigFile()
	if err != nil {
		return nil, i.client.explain(i.source, err)
	}
	return config, nil
}

// transport returns the transport to a registry, with limits for responses. Only an insecure one may
// have a certificate that cannot be verified, or no TLS.
func (c *Client) transport(insecure bool) http.RoundTripper {
	transport := &http.Transport{
		DialContext: (&net.Dialer{Timeout: connectTimeout}).DialContext,
		TLSClientConfig: &tls.Config{
			RootCAs:            c.Roots,
			MinVersion:         tls.VersionTLS12,
			InsecureSkipVerify: insecure, //nolint:gosec // registries.conf declares it insecure
		},
		TLSHandshakeTimeout:   connectTimeout,
		ResponseHeaderTimeout: responseTimeout,
		IdleConnTimeout:       idleTimeout,
		ForceAttemptHTTP2:     true,
	}
	if c.Proxy != nil {
		transport.Proxy = func(r *http.Request) (*url.URL, error) { return c.Proxy(r.URL) }
	}
	if insecure {
		return trace.Transport(limitedTransport{transport})
	}
	return trace.Transport(limitedTransport{requireTLS{transport}})
}

// requireTLS refuses requests without TLS. The library falls back to HTTP for registries with a
// private address, and would send the credentials.
type requireTLS struct{ http.RoundTripper }

// RoundTrip sends a request.
func (t requireTLS) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "https" {
		return nil, errors.New("the registry does not use TLS, and registries.conf does not declare it insecure")
	}
	return t.RoundTripper.RoundTrip(r)
}
