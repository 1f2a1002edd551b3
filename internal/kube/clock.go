// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"crypto/x509"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/transport"
)

// ServerClock records the time of the server from the Date header of its
// responses.
type ServerClock struct{ skew atomic.Pointer[clockSkew] }

// clockSkew is the time of the server, and the local time at which it was received.
type clockSkew struct{ serverDate, receivedAt time.Time }

// Now returns the time of the server, or the local time if no response had a
// Date header.
func (c *ServerClock) Now() time.Time {
	last := c.skew.Load()
	if last == nil {
		return time.Now()
	}
	return last.serverDate.Add(time.Since(last.receivedAt))
}

// Set records the time of the server.
func (c *ServerClock) Set(date time.Time) {
	c.skew.Store(&clockSkew{serverDate: date, receivedAt: time.Now()})
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

// SkewNote returns a clause about the difference between the local clock and the
// server's. It returns "" if the difference is small or the time of the server is
// unknown.
func (c *ServerClock) SkewNote(local time.Time) string {
	if note := transport.SkewNote(c.Now().Sub(local)); note != "" && c.skew.Load() != nil {
		return note + " (if it is wrong: " + transport.ClockRemedy + ")"
	}
	return ""
}

// explainExpiry distinguishes an expired server certificate from a wrong local
// clock. To do so, it requests the time from the server.
func (e *Endpoint) explainExpiry(ctx context.Context, problem *transport.Error) *transport.Error {
	if e.tls == nil {
		return problem
	}
	date, err := e.fetchServerDate(ctx, problem.Certificate)
	if err != nil {
		// The time of an unverified server is not trusted.
		if untrusted := transport.Classify(e.versionURL(), e.proxyURL(), err); untrusted.Certificate != nil {
			return untrusted
		}
		return problem
	}
	return expiryError(problem, date, time.Now())
}

// expiryError decides between an expired certificate and a wrong local clock, by the
// date of the server.
func expiryError(e *transport.Error, date, local time.Time) *transport.Error {
	if date.After(e.Certificate.NotBefore) && date.Before(e.Certificate.NotAfter) {
		e.Message = fmt.Sprintf("this host's clock is wrong: it shows %s, and the API server's shows %s; by this host's "+
			"clock, %s", report.Timestamp(local), report.Timestamp(date),
			transport.DescribeValidity(e.Address, e.Certificate, local))
		e.Remedy = transport.ClockRemedy
		return e
	}
	e.Message = fmt.Sprintf("%s; the API server's clock shows %s, so the certificate must be renewed",
		transport.DescribeValidity(e.Address, e.Certificate, date), report.Timestamp(date))
	e.Remedy = "# check whether the hosted control plane's certificates are renewed (the annotation " +
		"hypershift.openshift.io/disable-pki-reconciliation stops that)"
	return e
}

// fetchServerDate requests the current time from the server. The server is verified as
// usual, but for a time at which certificate is valid; no credential is sent.
func (e *Endpoint) fetchServerDate(ctx context.Context, certificate *x509.Certificate) (time.Time, error) {
	verify := e.tls.Clone()
	verify.Certificates, verify.GetClientCertificate = nil, nil
	valid := certificate.NotBefore.Add(certificate.NotAfter.Sub(certificate.NotBefore) / 2)
	verify.Time = func() time.Time { return valid }
	client := &http.Client{Transport: &http.Transport{
		Proxy:             http.ProxyURL(e.proxyURL()),
		TLSClientConfig:   verify,
		DisableKeepAlives: true,
	}}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, e.versionURL().String(), nil)
	if err != nil {
		return time.Time{}, fmt.Errorf("requesting the time: %w", err)
	}
	response, err := client.Do(request)
	if err != nil {
		return time.Time{}, fmt.Errorf("requesting the time: %w", err)
	}
	response.Body.Close()
	return http.ParseTime(response.Header.Get("Date"))
}
