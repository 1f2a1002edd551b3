// SPDX-License-Identifier: Apache-2.0

package ignitionserver_test

import (
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/test/controlplane/internal/api"
)

func (r testServer) setFaults(t *testing.T, faults api.Faults) {
	t.Helper()
	if err := r.SetFaults(faults); err != nil {
		t.Fatal(err)
	}
}

func TestDownReturnsHAProxyPage(t *testing.T) {
	s := start(t, payload)
	s.setFaults(t, api.Faults{DownSeconds: 3600})
	got, err := s.get(t, "/ignition", map[string]string{"Authorization": s.bearer()})
	if err != nil {
		t.Fatal(err)
	}
	const page = "<html><body><h1>503 Service Unavailable</h1>\nNo server is available to handle this request.\n" +
		"</body></html>\n"
	if got.status != http.StatusServiceUnavailable || got.body != page || got.header.Get("Content-Type") != "text/html" {
		t.Errorf("got %+v", got)
	}
	if date, has := got.header["Date"]; has {
		t.Errorf("HAProxy's page has no Date, got %v", date)
	}
}

func TestNotReadyExpires(t *testing.T) {
	s := start(t, payload)
	s.setFaults(t, api.Faults{NotReadySeconds: 3600})
	if got := s.status(t, s.Token()); got != http.StatusNetworkAuthenticationRequired {
		t.Errorf("not ready: got %d, want 511", got)
	}
	s.setFaults(t, api.Faults{NotReadySeconds: 0.01})
	for s.State().Faults.NotReadySeconds > 0 {
		time.Sleep(time.Millisecond)
	}
	if got := s.status(t, s.Token()); got != http.StatusOK {
		t.Errorf("ready again: got %d, want 200", got)
	}
}

func TestTruncatedBodyIsReported(t *testing.T) {
	body := `{"ignition":{"version":"3.2.0"},"x":"` + strings.Repeat("x", 100_000) + `"}`
	s := start(t, body)
	s.setFaults(t, api.Faults{TruncateAfter: 50_000})
	got, err := s.get(t, "/ignition", map[string]string{"Authorization": s.bearer()})
	if !errors.Is(err, io.ErrUnexpectedEOF) || got.status != http.StatusOK || got.body != body[:50_000] {
		t.Errorf("got %d, %d bytes, error %v; want 200, 50000 bytes and an unexpected end", got.status, len(got.body), err)
	}
	log := s.State().Log
	if len(log) != 1 || !log[0].Truncated || log[0].Bytes != 50_000 {
		t.Errorf("the log contains %+v", log)
	}
}

func TestSlowBodyIsComplete(t *testing.T) {
	body := `{"ignition":{"version":"3.2.0"},"x":"` + strings.Repeat("x", 10_000) + `"}`
	s := start(t, body)
	s.setFaults(t, api.Faults{BytesPerSecond: 50_000})
	got, err := s.get(t, "/ignition", map[string]string{"Authorization": s.bearer()})
	if err != nil || got.body != body {
		t.Errorf("got %d bytes, %v; want %d", len(got.body), err, len(body))
	}
}

func TestDateIsSkewed(t *testing.T) {
	s := start(t, payload)
	s.setFaults(t, api.Faults{DateSkewSeconds: -86400})
	got, err := s.get(t, "/healthz", nil)
	if err != nil {
		t.Fatal(err)
	}
	date, err := http.ParseTime(got.header.Get("Date"))
	if err != nil {
		t.Fatal(err)
	}
	if skew := time.Since(date); skew < 23*time.Hour || skew > 25*time.Hour {
		t.Errorf("the Date header is %s behind, want a day", skew)
	}
}

func TestCertificates(t *testing.T) {
	s := start(t, payload)
	for _, test := range []struct {
		kind string
		bad  func(error) bool
	}{
		{api.CertificateValid, nil},
		{api.CertificateWrongCA, is[x509.UnknownAuthorityError]},
		{api.CertificateWrongName, is[x509.HostnameError]},
		{api.CertificateExpired, func(err error) bool {
			var invalid x509.CertificateInvalidError
			return errors.As(err, &invalid) && invalid.Reason == x509.Expired
		}},
	} {
		t.Run("kind "+test.kind, func(t *testing.T) {
			s.setFaults(t, api.Faults{Certificate: test.kind})
			_, err := s.get(t, "/healthz", nil)
			if test.bad == nil && err != nil || test.bad != nil && !test.bad(err) {
				t.Errorf("got %v", err)
			}
		})
	}
	if err := s.SetFaults(api.Faults{Certificate: "nonsense"}); err == nil {
		t.Error("an unknown kind of certificate was taken")
	}
}

func is[E error](err error) bool {
	var target E
	return errors.As(err, &target)
}

func TestTLSMatchesUpstream(t *testing.T) {
	s := start(t, payload)
	dial := func(config *tls.Config) (tls.ConnectionState, error) {
		config.RootCAs, config.ServerName = s.roots, host
		config.NextProtos = []string{"h2", "http/1.1"}
		conn, err := tls.Dial("tcp4", s.address, config)
		if err != nil {
			return tls.ConnectionState{}, err
		}
		defer conn.Close()
		return conn.ConnectionState(), nil
	}
	state, err := dial(&tls.Config{MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	leaf, root := state.VerifiedChains[0][0], state.VerifiedChains[0][1]
	if len(leaf.DNSNames) != 1 || leaf.DNSNames[0] != host || len(leaf.IPAddresses) != 0 {
		t.Errorf("SANs are %v %v, want only %s", leaf.DNSNames, leaf.IPAddresses, host)
	}
	if root.Subject.String() != "CN=ignition-root-ca,OU=openshift" {
		t.Errorf("the authority is %s", root.Subject)
	}
	if state.NegotiatedProtocol != "http/1.1" {
		t.Errorf("negotiated %q, want http/1.1", state.NegotiatedProtocol)
	}
	old := &tls.Config{MinVersion: tls.VersionTLS11, MaxVersion: tls.VersionTLS11} //nolint:gosec // must be refused
	if _, err := dial(old); err == nil {
		t.Error("TLS 1.1 was taken")
	}
	if key, isRSA := leaf.PublicKey.(*rsa.PublicKey); !isRSA || key.Size() != 2048/8 || len(leaf.ExtKeyUsage) > 0 {
		t.Errorf("the certificate has the key %T, and the extended key usages %v", leaf.PublicKey, leaf.ExtKeyUsage)
	}
	const weak = tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256
	if _, err := dial(tls12(weak)); err == nil {
		t.Error("a suite without AEAD was taken")
	}
	const strong = tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256
	if _, err := dial(tls12(strong)); err != nil {
		t.Errorf("TLS 1.2 with an AEAD suite: %v", err)
	}
}

// Sessions are resumed, but not with another certificate.
func TestSessionsAreResumed(t *testing.T) {
	s := start(t, payload)
	cache := tls.NewLRUClientSessionCache(1)
	dial := func() (tls.ConnectionState, error) {
		conn, err := tls.Dial("tcp4", s.address, &tls.Config{
			RootCAs: s.roots, ServerName: host, ClientSessionCache: cache, MinVersion: tls.VersionTLS12,
		})
		if err != nil {
			return tls.ConnectionState{}, err
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); err != nil {
			return tls.ConnectionState{}, err
		}
		_, err = io.ReadAll(conn) // with it, what resumes the session
		return conn.ConnectionState(), err
	}
	if _, err := dial(); err != nil {
		t.Fatal(err)
	}
	if state, err := dial(); err != nil || !state.DidResume {
		t.Errorf("the session was not resumed: %v", err)
	}
	s.setFaults(t, api.Faults{Certificate: api.CertificateExpired})
	if _, err := dial(); err == nil {
		t.Error("an expired certificate was not sent")
	}
}

// The preface of HTTP/2 is no request.
func TestPrefaceOfHTTP2(t *testing.T) {
	s := start(t, payload)
	conn, err := tls.Dial("tcp4", s.address, &tls.Config{RootCAs: s.roots, ServerName: host, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	answer, _ := io.ReadAll(conn)
	if !strings.HasPrefix(string(answer), "HTTP/1.1 400 ") {
		t.Errorf("got %q", answer)
	}
}

func tls12(suite uint16) *tls.Config {
	//nolint:gosec // the suites of 1.3 cannot be chosen
	return &tls.Config{MinVersion: tls.VersionTLS12, MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{suite}}
}
