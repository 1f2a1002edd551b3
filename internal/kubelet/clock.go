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

// clockRemedy sets a clock that is wrong.
const clockRemedy = "timedatectl; chronyc makestep"

// tolerable is how far two clocks may be apart before it is worth a word; the
// server's Date has whole seconds, and its answer takes a while.
const tolerable = time.Minute

// apart says how this machine's clock differs from the server's, in brackets;
// "" when it does not, or when the server never said what time it is.
func (c *serverClock) apart(local time.Time) string {
	c.mu.Lock()
	known := !c.date.IsZero()
	c.mu.Unlock()
	server := c.now()
	if difference := local.Sub(server).Abs(); !known || difference < tolerable {
		return ""
	}
	return fmt.Sprintf(" (this machine's clock says %s; if that is the wrong one: %s)", stamp(local), clockRemedy)
}

// explainClock tells a server's certificate that has expired from a clock of
// this machine that is wrong, by asking the server for its time.
func (a *api) explainClock(ctx context.Context, err error) (trouble, bool) {
	var invalid x509.CertificateInvalidError
	if a.tls == nil || !errors.As(err, &invalid) || invalid.Reason != x509.Expired || invalid.Cert == nil {
		return trouble{}, false
	}
	date, err := a.askDate(ctx, invalid.Cert)
	if err != nil {
		return explainTLS(err, a.server) // one whom nobody vouches for has no say in what time it is
	}
	return clockTrouble(a.server, invalid.Cert, date, time.Now()), true
}

// clockTrouble decides between the two, by what the server says of the time.
func clockTrouble(server string, certificate *x509.Certificate, date, local time.Time) trouble {
	t := trouble{code: report.Failed, remedy: clockRemedy}
	validity := fmt.Sprintf("the certificate of %s is valid from %s to %s", server, stamp(certificate.NotBefore), stamp(certificate.NotAfter))
	if date.After(certificate.NotBefore) && date.Before(certificate.NotAfter) {
		t.text = fmt.Sprintf("this machine's clock is wrong: it says %s, the API server's says %s; %s", stamp(local), stamp(date), validity)
		return t
	}
	t.text = fmt.Sprintf("%s, and the API server's own clock says %s: it needs a new one", validity, stamp(date))
	t.remedy = "# look whether the hosted control plane's certificates are renewed (the annotation hypershift.openshift.io/disable-pki-reconciliation stops that)"
	return t
}

// askDate asks the server what time it is. The server is verified as always,
// but as if it were a moment at which this certificate of its is valid; no
// credential is shown.
func (a *api) askDate(ctx context.Context, certificate *x509.Certificate) (time.Time, error) {
	verify := a.tls.Clone()
	verify.Certificates, verify.GetClientCertificate = nil, nil
	valid := certificate.NotBefore.Add(certificate.NotAfter.Sub(certificate.NotBefore) / 2)
	verify.Time = func() time.Time { return valid }
	transport := &http.Transport{TLSClientConfig: verify, DisableKeepAlives: true}
	if proxy := a.via(); proxy != nil {
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
