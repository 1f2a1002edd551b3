// SPDX-License-Identifier: Apache-2.0

package ignition

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// An untrusted server certificate is reported with the part that must be corrected.
func TestFetchReportsUntrustedCertificate(t *testing.T) {
	ca := certtest.NewCA(t, "ignition-root-ca")
	other, corporate, router := certtest.NewCA(t, "ignition-root-ca"), certtest.NewCA(t, "Corporate Proxy CA"),
		certtest.NewCA(t, "ingress-operator@1700000000")
	tests := []struct {
		name   string
		leaf   tls.Certificate
		want   string
		remedy string
	}{
		{
			"CA of another cluster", other.IssueServing(t, "127.0.0.1"),
			`another CA with the same name "CN=ignition-root-ca,OU=openshift"`, "user-data-demo-workers-$HASH",
		},
		{
			"TLS opened on the way", corporate.IssueServing(t, "127.0.0.1"),
			`signed by "CN=Corporate Proxy CA,OU=openshift", not by the CA in the user data, "CN=ignition-root-ca,OU=openshift"`,
			"TLS inspection",
		},
		{
			"router", router.IssueServing(t, "127.0.0.1"), "the default router of the management cluster responds",
			"ignitionEndpoint",
		},
		{
			"another name", ca.IssueServing(t, "ignition.demo.example.com"),
			" is valid for ignition.demo.example.com, not for 127.0.0.1",
			"--endpoint https://ignition.demo.example.com:PORT/ignition --connect-to 127.0.0.1:PORT",
		},
		{
			"another address", ca.IssueServing(t, "192.0.2.7"), " is valid for 192.0.2.7, not for 127.0.0.1",
			"--endpoint https://192.0.2.7:PORT/ignition --connect-to",
		},
		{
			"expired", ca.IssueServing(t, "127.0.0.1", validFor(-2*time.Hour, -time.Hour)), " expired at ",
			"disable-pki-reconciliation",
		},
		{
			"not valid yet", ca.IssueServing(t, "127.0.0.1", validFor(time.Hour, 2*time.Hour)), "is not valid before",
			"timedatectl",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := startServerWith(t, ca, test.leaf, servePayload)
			_, err := Fetcher{RetryTimeout: waittest.Timeout}.Fetch(t.Context(), s.userData(t))
			checkFailure(t, err, report.Refused, test.want)
			_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
			if want := strings.ReplaceAll(test.remedy, "PORT", port); !strings.Contains(string(report.RemedyOf(err)), want) {
				t.Errorf("remedy %q lacks %q", report.RemedyOf(err), want)
			}
			if len(s.recorded()) != 0 {
				t.Error("the request, and with it the token, was sent to a server that is not trusted")
			}
		})
	}
}

// The values in the remedy for a name mismatch work.
func TestNameMismatchRemedyWorks(t *testing.T) {
	s := startServer(t, certtest.NewCA(t, "ignition-root-ca"), "ignition.demo.example.com", servePayload)
	_, err := quickFetcher().Fetch(t.Context(), s.userData(t))
	_, command, _ := strings.Cut(string(report.RemedyOf(err)), "--endpoint ")
	endpoint, connectTo, found := strings.Cut(command, " --connect-to ")
	if !found {
		t.Fatalf("no command in %q", report.RemedyOf(err))
	}
	fetcher := quickFetcher()
	fetcher.ConnectTo = connectTo
	if _, err := fetcher.Fetch(t.Context(), s.userData(t, func(v *Values) { v.Endpoint = endpoint })); err != nil {
		t.Error(err)
	}
}

func TestFetchRejectsOldTLS(t *testing.T) {
	ca := certtest.NewCA(t, "ignition-root-ca")
	s := startServer(t, ca, "127.0.0.1", servePayload)
	s.TLS.MinVersion, s.TLS.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	_, err := Fetcher{RetryTimeout: waittest.Timeout}.Fetch(t.Context(), s.userData(t))
	checkFailure(t, err, report.Refused, " refused the TLS handshake: tls: protocol version not supported")

	fetcher := Fetcher{RetryTimeout: waittest.Timeout, ConnectTo: s.Listener.Addr().String()}
	_, err = fetcher.Fetch(t.Context(), s.userData(t, func(v *Values) { v.Endpoint = "ignition.demo.example.com" }))
	if want := "openssl s_client -connect " + fetcher.ConnectTo +
		" -servername ignition.demo.example.com"; !strings.Contains(string(report.RemedyOf(err)), want) {
		t.Errorf("remedy %q, want %q", report.RemedyOf(err), want)
	}
}

func TestFetchReportsServerWithoutTLS(t *testing.T) {
	ca := certtest.NewCA(t, "ignition-root-ca")
	plain := httptest.NewServer(http.HandlerFunc(servePayload))
	defer plain.Close()
	userData := (&ignitionServer{Server: plain, ca: ca}).userData(t,
		func(v *Values) { v.Endpoint = plain.Listener.Addr().String() })
	_, err := Fetcher{RetryTimeout: waittest.Timeout}.Fetch(t.Context(), userData)
	checkFailure(t, err, report.Refused, "does not use TLS")
}

// A server that accepts a connection and closes it, such as a load balancer without backends.
func TestFetchRetriesClosedHandshake(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			connection, err := listener.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			connection.Close()
		}
	}()
	userData, err := NewUserData(Values{Endpoint: listener.Addr().String(), CA: certtest.NewCA(t, "ignition-root-ca").PEM})
	if err != nil {
		t.Fatal(err)
	}
	_, err = quickFetcher().Fetch(t.Context(), userData)
	checkFailure(t, err, report.Failed, "closed the connection without a response")
}
