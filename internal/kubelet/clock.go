package kubelet

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// clockRemedy sets a wrong clock.
const clockRemedy = "timedatectl; chronyc makestep"

// minReportedSkew is the smallest clock difference that is reported. The Date header
// of the server has whole seconds, and the response takes some time.
const minReportedSkew = time.Minute

// skewNote returns a note in parentheses about the difference between the local
// clock and the server's. It returns "" if the difference is small or the time
// of the server is unknown.
func (c *serverClock) skewNote(local time.Time) string {
	c.mu.Lock()
	known := !c.serverDate.IsZero()
	c.mu.Unlock()
	server := c.now()
	if difference := local.Sub(server).Abs(); !known || difference < minReportedSkew {
		return ""
	}
	return fmt.Sprintf(" (this machine's clock says %s; if that is the wrong one: %s)", formatTime(local), clockRemedy)
}

// explainExpiry distinguishes an expired server certificate from a wrong local
// clock. To do so, it requests the time from the server.
func (a *api) explainExpiry(ctx context.Context, err error) (requestProblem, bool) {
	var invalid x509.CertificateInvalidError
	if a.tls == nil || !errors.As(err, &invalid) || invalid.Reason != x509.Expired || invalid.Cert == nil {
		return requestProblem{}, false
	}
	date, err := a.fetchServerDate(ctx, invalid.Cert)
	if err != nil {
		return explainTLS(err, a.server) // the time of an unverified server is not trusted
	}
	return expiryProblem(a.server, invalid.Cert, date, time.Now()), true
}

// expiryProblem decides between an expired certificate and a wrong local clock,
// by the date of the server.
func expiryProblem(server string, certificate *x509.Certificate, date, local time.Time) requestProblem {
	t := requestProblem{code: report.Failed, remedy: clockRemedy}
	validity := fmt.Sprintf("the certificate of %s is valid from %s to %s", server, formatTime(certificate.NotBefore), formatTime(certificate.NotAfter))
	if date.After(certificate.NotBefore) && date.Before(certificate.NotAfter) {
		t.text = fmt.Sprintf("this machine's clock is wrong: it says %s, the API server's says %s; %s", formatTime(local), formatTime(date), validity)
		return t
	}
	t.text = fmt.Sprintf("%s, and the API server's own clock says %s: it needs a new one", validity, formatTime(date))
	t.remedy = "# look whether the hosted control plane's certificates are renewed (the annotation hypershift.openshift.io/disable-pki-reconciliation stops that)"
	return t
}

// fetchServerDate requests the current time from the server. The server is verified as
// usual, but for a time at which certificate is valid; no credential is sent.
func (a *api) fetchServerDate(ctx context.Context, certificate *x509.Certificate) (time.Time, error) {
	verify := a.tls.Clone()
	verify.Certificates, verify.GetClientCertificate = nil, nil
	valid := certificate.NotBefore.Add(certificate.NotAfter.Sub(certificate.NotBefore) / 2)
	verify.Time = func() time.Time { return valid }
	transport := &http.Transport{TLSClientConfig: verify, DisableKeepAlives: true}
	if proxy := a.proxyURL(); proxy != nil {
		transport.Proxy = func(*http.Request) (*url.URL, error) { return proxy, nil }
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(a.server, "/")+"/version", nil)
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
