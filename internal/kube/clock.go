package kube

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// ServerClock records the time of the server from the Date header of its
// responses.
type ServerClock struct {
	mu         sync.Mutex
	serverDate time.Time
	receivedAt time.Time
}

// Now returns the time of the server, or the local time if no response had a
// Date header.
func (c *ServerClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.serverDate.IsZero() {
		return time.Now()
	}
	return c.serverDate.Add(time.Since(c.receivedAt))
}

// Set records the time of the server.
func (c *ServerClock) Set(date time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.serverDate, c.receivedAt = date, time.Now()
}

func (c *ServerClock) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if err != nil {
			return nil, err
		}
		if date, err := http.ParseTime(response.Header.Get("Date")); err == nil {
			c.Set(date)
		}
		return response, nil
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// ClockRemedy is the command that prints and sets the clock.
const ClockRemedy = "timedatectl; chronyc makestep"

// minReportedSkew is the smallest clock difference that is reported. The Date header
// of the server has whole seconds, and the response takes some time.
const minReportedSkew = time.Minute

// SkewNote returns a note in parentheses about the difference between the local
// clock and the server's. It returns "" if the difference is small or the time
// of the server is unknown.
func (c *ServerClock) SkewNote(local time.Time) string {
	c.mu.Lock()
	known := !c.serverDate.IsZero()
	c.mu.Unlock()
	server := c.Now()
	if difference := local.Sub(server).Abs(); !known || difference < minReportedSkew {
		return ""
	}
	return fmt.Sprintf(" (this machine's clock says %s; if that is the wrong one: %s)", report.Timestamp(local),
		ClockRemedy)
}

// explainExpiry distinguishes an expired server certificate from a wrong local
// clock. To do so, it requests the time from the server.
func (c *Conn) explainExpiry(ctx context.Context, err error) (Problem, bool) {
	var invalid x509.CertificateInvalidError
	if c.tls == nil || !errors.As(err, &invalid) || invalid.Reason != x509.Expired || invalid.Cert == nil {
		return Problem{}, false
	}
	date, err := c.fetchServerDate(ctx, invalid.Cert)
	if err != nil {
		return explainTLS(err, c.Server) // the time of an unverified server is not trusted
	}
	return expiryProblem(c.Server, invalid.Cert, date, time.Now()), true
}

// expiryProblem decides between an expired certificate and a wrong local clock,
// by the date of the server.
func expiryProblem(server string, certificate *x509.Certificate, date, local time.Time) Problem {
	t := Problem{Code: report.Failed, Remedy: ClockRemedy}
	validity := fmt.Sprintf("the certificate of %s is valid from %s to %s", server,
		report.Timestamp(certificate.NotBefore), report.Timestamp(certificate.NotAfter))
	if date.After(certificate.NotBefore) && date.Before(certificate.NotAfter) {
		t.Text = fmt.Sprintf("this machine's clock is wrong: it says %s, the API server's says %s; %s",
			report.Timestamp(local), report.Timestamp(date), validity)
		return t
	}
	t.Text = fmt.Sprintf("%s, and the API server's own clock says %s: it needs a new one", validity,
		report.Timestamp(date))
	t.Remedy = "# look whether the hosted control plane's certificates are renewed (the annotation " +
		"hypershift.openshift.io/disable-pki-reconciliation stops that)"
	return t
}

// fetchServerDate requests the current time from the server. The server is verified as
// usual, but for a time at which certificate is valid; no credential is sent.
func (c *Conn) fetchServerDate(ctx context.Context, certificate *x509.Certificate) (time.Time, error) {
	verify := c.tls.Clone()
	verify.Certificates, verify.GetClientCertificate = nil, nil
	valid := certificate.NotBefore.Add(certificate.NotAfter.Sub(certificate.NotBefore) / 2)
	verify.Time = func() time.Time { return valid }
	transport := &http.Transport{TLSClientConfig: verify, DisableKeepAlives: true}
	if proxy := c.proxyURL(); proxy != nil {
		transport.Proxy = func(*http.Request) (*url.URL, error) { return proxy, nil }
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(c.Server, "/")+"/version", nil)
	if err != nil {
		return time.Time{}, fmt.Errorf("asking for the time: %w", err)
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return time.Time{}, fmt.Errorf("asking for the time: %w", err)
	}
	response.Body.Close()
	date, err := http.ParseTime(response.Header.Get("Date"))
	if err != nil {
		return time.Time{}, fmt.Errorf("asking for the time: %w", err)
	}
	return date, nil
}
