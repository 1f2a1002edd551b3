// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
)

// If a server's certificate is not valid by the local clock, the server's Date
// header shows which of the two is wrong.
func TestExpiredCertificateOrWrongClock(t *testing.T) {
	now := time.Now()
	tests := map[string]struct {
		from, to time.Time // the certificate's validity
		date     time.Time // the server's clock
		foreign  bool      // signed by another CA, so that the server's date is not trusted
		want     string
		remedy   string
	}{
		"expired": {
			from:   now.Add(-48 * time.Hour),
			to:     now.Add(-24 * time.Hour),
			date:   now,
			want:   "the certificate must be renewed",
			remedy: "disable-pki-reconciliation",
		},
		"not valid yet": {
			from:   now.Add(24 * time.Hour),
			to:     now.Add(48 * time.Hour),
			date:   now,
			want:   "the certificate must be renewed",
			remedy: "disable-pki-reconciliation",
		},
		"clock is ahead": {
			from:   now.Add(-48 * time.Hour),
			to:     now.Add(-24 * time.Hour),
			date:   now.Add(-30 * time.Hour),
			want:   "this host's clock is wrong: it shows",
			remedy: "chronyc makestep",
		},
		"clock is behind": {
			from:   now.Add(24 * time.Hour),
			to:     now.Add(48 * time.Hour),
			date:   now.Add(30 * time.Hour),
			want:   "this host's clock is wrong: it shows",
			remedy: "chronyc makestep",
		},
		"response of another server": {
			from:    now.Add(-48 * time.Hour),
			to:      now.Add(-24 * time.Hour),
			date:    now.Add(-30 * time.Hour),
			foreign: true,
			want:    "which is not a trusted CA",
			remedy:  "openssl",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			ca := certtest.NewCA(t, "ca")
			key := certtest.NewKey(t)
			chain := ca.Issue(t, key,
				&x509.Certificate{
					NotBefore: test.from, NotAfter: test.to,
					IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
				})
			pair, err := tls.X509KeyPair(chain, certtest.KeyPEM(t, key))
			if err != nil {
				t.Fatal(err)
			}
			server := withoutErrorLog(httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter,
				r *http.Request,
			) {
				if len(r.TLS.PeerCertificates) > 0 || r.Header.Get("Authorization") != "" {
					t.Error("a credential was shown to a server that was not verified as always")
				}
				w.Header().Set("Date", test.date.UTC().Format(http.TimeFormat))
			})))
			server.TLS = &tls.Config{
				Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequestClientCert,
				MinVersion: tls.VersionTLS12,
			}
			server.StartTLS()
			defer server.Close()
			trusted := ca.PEM
			if test.foreign {
				trusted = certtest.NewCA(t, "another").PEM
			}
			config := &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{
				CAData: trusted, CertData: ca.Issue(t, key,
					&x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}),
				KeyData: certtest.KeyPEM(t, key),
			}}
			a, err := Connect(config, noProxy)
			if err != nil {
				t.Fatal(err)
			}
			err = a.Client.RESTClient().Get().AbsPath("/version").Do(t.Context()).Error()
			got := a.Explain(t.Context(), err)
			if !strings.Contains(got.Message, test.want) || !strings.Contains(string(got.Remedy), test.remedy) ||
				!got.Temporary ||
				got.Code != report.Failed {
				t.Errorf("explain(%v)\n = %+v\nwant %q, %q", err, got, test.want, test.remedy)
			}
		})
	}
}

func TestSkewNote(t *testing.T) {
	now := time.Now()
	clock := &ServerClock{}
	clock.Set(now)
	if got := clock.SkewNote(now.Add(30 * time.Second)); got != "" {
		t.Errorf("half a minute is worth a word: %q", got)
	}
	if got := clock.SkewNote(now.Add(-time.Hour)); !strings.Contains(got, "1h0m0s behind the server's") ||
		!strings.Contains(got, "chronyc makestep") {
		t.Errorf("SkewNote() = %q", got)
	}
	if got := (&ServerClock{}).SkewNote(now.Add(time.Hour)); got != "" {
		t.Errorf("nobody said what time it is, and yet: %q", got)
	}
}
