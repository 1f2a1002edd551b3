// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/reporttest"
)

// Each explanation comes from a real failed connection on loopback.
func TestExplain(t *testing.T) {
	answering := func(code int, body string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			fmt.Fprint(w, body)
		}
	}
	status := func(code int, reason string) string {
		return fmt.Sprintf(
			`{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d,"reason":%q,"message":"words of the server"}`,
			code, reason,
		)
	}
	tests := map[string]struct {
		handler   http.HandlerFunc
		server    func(s *httptest.Server) string
		foreignCA bool
		want      string
		temporary bool
		code      report.Code
	}{
		"401": {
			handler: answering(401, status(401, "Unauthorized")),
			want:    "rejects this credential",
			code:    report.CredentialRefused,
		},
		"403": {
			handler: answering(403, status(403, "Forbidden")),
			want:    "words of the server",
			code:    report.CredentialRefused,
		},
		"422": {
			handler: answering(422, status(422, "Invalid")),
			want:    "words of the server",
			code:    report.Failed,
		},
		"503 of a proxy": {
			handler: answering(503, "<html>no server</html>"), want: "responded with HTTP 503", temporary: true,
			code: report.Failed,
		},
		"another CA": {
			handler:   answering(200, "{}"),
			foreignCA: true,
			want:      "which is not a trusted CA",
			temporary: true,
			code:      report.Failed,
		},
		"another name": {
			handler:   answering(200, "{}"),
			server:    func(s *httptest.Server) string { return strings.Replace(s.URL, "127.0.0.1", "127.0.0.2", 1) },
			want:      "is valid for example.com",
			temporary: true,
			code:      report.Failed,
		},
		"nothing listens": {
			server: func(*httptest.Server) string { return "https://" + closedPort(t) },
			want:   "refused the connection", temporary: true, code: report.Failed,
		},
		"name without address": {
			server: func(*httptest.Server) string { return "https://api.invalid:6443" },
			want:   "the name api.invalid ", temporary: true, code: report.Failed,
		},
		"no TLS": {
			server: func(*httptest.Server) string { return "https://" + plainPort(t) },
			want:   "does not use TLS", temporary: true, code: report.Failed,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			handler := test.handler
			if handler == nil {
				handler = answering(200, "{}")
			}
			server := withoutErrorLog(httptest.NewUnstartedServer(handler))
			server.Listener.Close()
			listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "0.0.0.0:0")
			if err != nil {
				t.Fatal(err)
			}
			server.Listener = listener
			server.StartTLS()
			defer server.Close()
			server.URL = fmt.Sprintf("https://127.0.0.1:%d", listener.Addr().(*net.TCPAddr).Port)
			config := &rest.Config{Host: server.URL}
			if test.server != nil {
				config.Host = test.server(server)
			}
			config.CAData = certtest.PEM("CERTIFICATE", server.Certificate().Raw)
			if test.foreignCA {
				config.CAData = certtest.NewCA(t, "foreign").PEM
			}
			a, err := Connect(config, noProxy)
			if err != nil {
				t.Fatal(err)
			}
			err = a.Client.RESTClient().Get().AbsPath("/version").Do(t.Context()).Error()
			if err == nil {
				t.Fatal("the request went well")
			}
			got := a.Explain(t.Context(), err)
			if !strings.Contains(got.Message, test.want) || got.Temporary != test.temporary || got.Code != test.code {
				t.Errorf("explain(%v)\n = %+v\nwant text %q, temporary %v, code %d", err, got, test.want,
					test.temporary, test.code)
			}
		})
	}
}

func TestRetrySurvivesServerRestartAndEnds(t *testing.T) {
	a := &Conn{Endpoint: Endpoint{Server: "https://api.example.com:6443", Clock: &ServerClock{}}}
	var sink reporttest.Recorder
	tries := 0
	err := a.Retry(t.Context(), sink.Log(), "asking", func() error {
		tries++
		if tries == 1 {
			return &net.DNSError{Name: "api.example.com", IsNotFound: true}
		}
		return nil
	})
	if err != nil || tries != 2 || !strings.Contains(sink.Text(), "asking: the name api.example.com does not "+
		"exist in DNS") {
		t.Errorf("Retry() = %v after %d tries, said %q", err, tries, sink.Text())
	}

	ctx, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	err = a.Retry(ctx, sink.Log(), "asking",
		func() error { return &net.DNSError{Name: "api.example.com", IsNotFound: true} })
	if err == nil || !strings.Contains(err.Error(), "does not exist in DNS") ||
		report.RemedyOf(err) != "getent ahosts api.example.com" {
		t.Errorf("Retry() at the deadline = %v (%s), want the last thing seen", err, report.RemedyOf(err))
	}
}

func noProxy(*http.Request) (*url.URL, error) { return nil, nil }

func withoutErrorLog(server *httptest.Server) *httptest.Server {
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	return server
}

func closedPort(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func plainPort(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}
