// SPDX-License-Identifier: Apache-2.0

package ignition

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/reporttest"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

func TestFetch(t *testing.T) {
	ca := certtest.NewCA(t, "ignition-root-ca")
	s := startServer(t, ca, "127.0.0.1", servePayload)
	payload, err := Fetcher{}.Fetch(t.Context(), s.userData(t))
	if err != nil {
		t.Fatal(err)
	}
	if content, _, ok := payload.File("/etc/a"); !ok || string(content) != "a" {
		t.Errorf("the payload is not the one that was served: %v", payload)
	}
	if payload.Server != s.Listener.Addr().String() || payload.Skew.Abs() > time.Minute {
		t.Errorf("server %q, skew %s", payload.Server, payload.Skew)
	}
	requests := s.recorded()
	if len(requests) != 1 {
		t.Fatalf("%d requests, want 1", len(requests))
	}
	r := requests[0]
	got := map[string]string{
		"method": r.Method, "path": r.URL.Path, "proto": r.Proto, "host": r.Host,
		"authorization": r.Header.Get("Authorization"), "pool": r.Header.Get("NodePool"),
		"hash":     r.Header.Get("TargetConfigVersionHash"),
		"encoding": r.Header.Get("Accept-Encoding"), "accept": r.Header.Get("Accept"),
	}
	want := map[string]string{
		"method": "GET", "path": "/ignition", "proto": "HTTP/1.1", "host": s.Listener.Addr().String(),
		"authorization": testBearer, "pool": "clusters/demo-workers", "hash": "844282c1",
		"encoding": "identity", "accept": "application/vnd.coreos.ignition+json;version=3.6.0, */*;q=0.1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("request differs (-want +got):\n%s", diff)
	}
}

// Temporary failures are retried, and each wait is logged with its reason.
func TestFetchRetriesTemporaryFailures(t *testing.T) {
	tests := []struct {
		name    string
		handler http.HandlerFunc
		message string
	}{
		{"payload not ready", rejectUnknownToken, "the payload of NodePool clusters/demo-workers is not generated yet"},
		{"server down", respondAsHAProxy, "is unreachable for the proxy in front of it (HTTP 503)"},
		{"server error", respond(http.StatusInternalServerError, "text/plain", "oops"), "HTTP 500"},
		{"shorter than announced", truncatedResponse(true), "the transfer ended after 20 of 104 bytes"},
		{"incomplete JSON", truncatedResponse(false), "the transfer ended after 20 of 20 bytes"},
		{"no bytes", respond(http.StatusOK, "application/json", ""), "the transfer ended after 0 bytes"},
		{"closed connection", closeConnection, "closed the connection without a response"},
	}
	ca := certtest.NewCA(t, "ignition-root-ca")
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, log := startServer(t, ca, "127.0.0.1", test.handler, test.handler, servePayload), &events{}
			if _, err := retryingFetcher(log).Fetch(t.Context(), s.userData(t)); err != nil {
				t.Fatal(err)
			}
			if n := len(s.recorded()); n != 3 {
				t.Errorf("%d requests, want 3", n)
			}
			if text := log.text(); !strings.Contains(text, test.message) || !strings.Contains(text, "retrying until") {
				t.Errorf("what was said lacks %q: %s", test.message, text)
			}
			if strings.Contains(log.text(), strings.TrimPrefix(testBearer, "Bearer ")) {
				t.Error("the token was said")
			}
		})
	}
}

// truncatedResponse sends 20 bytes of the payload, with or without the length of the complete payload.
func truncatedResponse(announced bool) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if announced {
			w.Header().Set("Content-Length", fmt.Sprint(len(servedPayload)))
		}
		_, _ = w.Write([]byte(servedPayload[:20]))
	}
}

func closeConnection(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// Permanent failures are reported at once, each with its own message.
func TestFetchReportsPermanentFailures(t *testing.T) {
	tests := []struct {
		name    string
		handler http.HandlerFunc
		code    report.Code
		want    string
		remedy  string
	}{
		{
			"401", respond(http.StatusUnauthorized, "text/plain", "Unauthorized"), report.CredentialRefused,
			"the server cannot decode the token (HTTP 401)", "user-data-demo-workers-$HASH",
		},
		{"404", http.NotFound, report.Usage, "the server has no payload at /ignition (HTTP 404)", "https://HOST/ignition"},
		{
			"403", respond(http.StatusForbidden, "text/html", "<html>"), report.Refused,
			"HTTP 403 Forbidden, which the ignition server never returns", "ignitionEndpoint",
		},
		{
			"invalid payload", respond(http.StatusInternalServerError, "text/plain", "Invalid ignition payload\n"),
			report.Failed, "a payload for this token that is not an Ignition config", "logs deployment/ignition-server",
		},
		{
			"web page", respond(http.StatusOK, "text/html", "<html>log in</html>"), report.Usage, "(a web page) is not JSON",
			"ignitionEndpoint",
		},
		{"text", respond(http.StatusOK, "text/plain", "hello"), report.Usage, "(text/plain) is not JSON", "ignitionEndpoint"},
		{
			"spec 2.2", respond(http.StatusOK, "application/json", `{"ignition":{"version":"2.2.0"}}`), report.Usage,
			"Ignition spec 2.2.0, which is not supported", "MachineConfigs",
		},
		{
			"invalid config", respond(http.StatusOK, "application/json",
				`{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"a"}]}}`), report.Usage, "path not absolute",
			"MachineConfigs",
		},
		{
			"too large", respond(http.StatusOK, "application/json", `"`+strings.Repeat("a", 2000)+`"`), report.Usage,
			"larger than 1000 bytes", "endpoint",
		},
		{
			"redirect to http", redirect("http://127.0.0.1/ignition"), report.Refused,
			"the server redirects to http://127.0.0.1/ignition, which is not allowed: http is not allowed",
			"load balancers between",
		},
		{
			"redirect in a circle", redirect("/ignition"), report.Refused, "the server redirects more than 10 times",
			"load balancers between",
		},
	}
	ca := certtest.NewCA(t, "ignition-root-ca")
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := startServer(t, ca, "127.0.0.1", test.handler)
			fetcher := Fetcher{RetryTimeout: waittest.Timeout, maxBytes: 1000}
			_, err := fetcher.Fetch(t.Context(), s.userData(t))
			checkFailure(t, err, test.code, test.want)
			if !strings.Contains(string(report.RemedyOf(err)), test.remedy) {
				t.Errorf("remedy %q lacks %q", report.RemedyOf(err), test.remedy)
			}
		})
	}
}

func redirect(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) }
}

func TestFetchWithoutToken(t *testing.T) {
	s := startServer(t, certtest.NewCA(t, "ignition-root-ca"), "127.0.0.1",
		respond(http.StatusUnauthorized, "text/plain", "Unauthorized"))
	_, err := quickFetcher().Fetch(t.Context(), s.userData(t, func(v *Values) { v.Token = nil }))
	checkFailure(t, err, report.CredentialRefused, "the server requires a token (HTTP 401), and none was given")
}

// A token that remains unknown is reported with both possible causes, the number of attempts,
// and the clock difference, if any.
func TestFetchEndsRetriesAfterTimeout(t *testing.T) {
	ca := certtest.NewCA(t, "ignition-root-ca")
	tests := []struct {
		name    string
		handler http.HandlerFunc
		code    report.Code
		want    []string
	}{
		{
			"unknown token", rejectUnknownToken, report.CredentialRefused,
			[]string{
				"the token has expired or was rotated, or the payload of NodePool clusters/demo-workers is not generated yet",
				" attempts in ",
			},
		},
		{
			"clock behind", withDate(3*time.Hour, rejectUnknownToken), report.CredentialRefused,
			[]string{"this host's clock is ", " behind the server's"},
		},
		{
			"clock ahead", withDate(-3*time.Hour, rejectUnknownToken), report.CredentialRefused,
			[]string{"this host's clock is ", " ahead of the server's"},
		},
		{"server down", respondAsHAProxy, report.Failed, []string{"HTTP 503", " attempts in "}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := startServer(t, ca, "127.0.0.1", test.handler)
			var err error
			waittest.GrowTimeout(t, "waiting for a second attempt", func(timeout time.Duration) (any, bool) {
				fetcher := quickFetcher()
				fetcher.RetryTimeout = timeout
				before := len(s.recorded())
				_, err = fetcher.Fetch(t.Context(), s.userData(t))
				return err, len(s.recorded())-before > 1
			})
			for _, want := range test.want {
				checkFailure(t, err, test.code, want)
			}
		})
	}
}

func withDate(skew time.Duration, handler http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", time.Now().Add(skew).UTC().Format(http.TimeFormat))
		handler(w, r)
	}
}

func TestFetchReportsClockSkew(t *testing.T) {
	s := startServer(t, certtest.NewCA(t, "ignition-root-ca"), "127.0.0.1", withDate(-2*time.Hour, servePayload))
	payload, err := quickFetcher().Fetch(t.Context(), s.userData(t))
	if err != nil {
		t.Fatal(err)
	}
	if off := payload.Skew + 2*time.Hour; off.Abs() > time.Minute {
		t.Errorf("skew %s, want -2h", payload.Skew)
	}
}

func TestFetchEndsWithContext(t *testing.T) {
	s := startServer(t, certtest.NewCA(t, "ignition-root-ca"), "127.0.0.1", rejectUnknownToken)
	ctx, cancel := context.WithCancel(t.Context())
	recorded := &reporttest.Recorder{}
	fetcher := retryingFetcher(&events{})
	fetcher.Log, fetcher.initialBackoff = recorded.Log(), time.Hour
	context.AfterFunc(recorded.DeadlineAt(t, "retrying until"), cancel)
	_, err := fetcher.Fetch(ctx, s.userData(t))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that the context was cancelled", err)
	}
}

// Ignition drops the headers on a redirect, so that the token reaches no other server.
func TestFetchDropsHeadersOnRedirect(t *testing.T) {
	ca := certtest.NewCA(t, "ignition-root-ca")
	second := startServer(t, ca, "127.0.0.1", servePayload)
	first := startServer(t, ca, "127.0.0.1", redirect(second.URL+"/elsewhere"))
	if _, err := quickFetcher().Fetch(t.Context(), first.userData(t)); err != nil {
		t.Fatal(err)
	}
	header := second.recorded()[0].Header
	for _, name := range []string{"Authorization", "NodePool", "TargetConfigVersionHash"} {
		if value := header.Get(name); value != "" {
			t.Errorf("%s went along: %q", name, value)
		}
	}
	if header.Get("Accept") == "" {
		t.Error("Accept did not go along")
	}
}

// The request is for the name in the URL, whatever the address of the connection.
func TestConnectToKeepsServerName(t *testing.T) {
	ca := certtest.NewCA(t, "ignition-root-ca")
	s := startServer(t, ca, "ignition.demo.example.com", servePayload)
	userData := s.userData(t, func(v *Values) { v.Endpoint = "https://ignition.demo.example.com:31234" })
	fetcher := quickFetcher()
	fetcher.ConnectTo = s.Listener.Addr().String()
	if _, err := fetcher.Fetch(t.Context(), userData); err != nil {
		t.Fatal(err)
	}
	r := s.recorded()[0]
	if r.Host != "ignition.demo.example.com:31234" || r.TLS.ServerName != "ignition.demo.example.com" {
		t.Errorf("Host %q, SNI %q", r.Host, r.TLS.ServerName)
	}
	fetcher.ConnectTo = "127.0.0.1"
	_, err := fetcher.Fetch(t.Context(), userData)
	checkFailure(t, err, report.Usage, "is not HOST:PORT")
}

func TestFetchRequiresCompleteUserData(t *testing.T) {
	_, err := quickFetcher().Fetch(t.Context(), &UserData{})
	checkFailure(t, err, report.Usage, "the ignition server is unknown")
	_, err = quickFetcher().Fetch(t.Context(), &UserData{Source: &url.URL{Scheme: "https", Host: "127.0.0.1:1"}})
	checkFailure(t, err, report.Usage, "the CA of the machine-config server")
}
