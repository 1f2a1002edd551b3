// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/transport"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// Responses and failures of a proxy between this host and the API server.
func TestExplainProxy(t *testing.T) {
	answering := func(code int) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter,
			_ *http.Request,
		) {
			w.WriteHeader(code)
		}))
		t.Cleanup(server.Close)
		return strings.TrimPrefix(server.URL, "http://")
	}
	tests := map[string]struct {
		proxy  string
		want   string
		remedy string
	}{
		"nothing listens": {
			proxy: closedPort(t),
			want:  "is unreachable: connection refused", remedy: "curl -kvm 20 --proxy",
		},
		"no such name": {
			proxy: "proxy.invalid:3128", want: "the proxy http://proxy.invalid:3128 is unreachable: ",
			remedy: "HTTPS_PROXY",
		},
		"requires a password": {
			proxy: answering(407), want: "refused to connect to api.example.com:6443: HTTP 407",
			remedy: "USER:PASSWORD@",
		},
		"not allowed": {
			proxy:  answering(403),
			want:   "refused to connect to api.example.com:6443: HTTP 403",
			remedy: "# allow CONNECT",
		},
		"bad gateway": {
			proxy: answering(502), want: "refused to connect to api.example.com:6443: HTTP 502 Bad Gateway",
			remedy: "NO_PROXY",
		},
		"too slow": {
			proxy: answering(504), want: "refused to connect to api.example.com:6443: HTTP 504 Gateway Timeout",
			remedy: "NO_PROXY",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			proxy := &url.URL{Scheme: "http", Host: test.proxy, User: url.UserPassword("me", "hunter2")}
			config := &rest.Config{Host: "https://api.example.com:6443"}
			a, err := Connect(config, func(*http.Request) (*url.URL, error) { return proxy, nil })
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
			if all := got.Message + string(got.Remedy); strings.Contains(all, "hunter2") {
				t.Errorf("the proxy's password is told: %s", all)
			}
		})
	}
	direct := &Endpoint{Server: "https://api.example.com", proxy: noProxy}
	if got := direct.Explain(t.Context(), errors.New("Forbidden")); got.Kind != transport.Unreachable {
		t.Errorf("without a proxy one is blamed: %+v", got)
	}
}

// A server that accepts the connection and never responds.
func TestExplainUnresponsiveServer(t *testing.T) {
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	ctx, pass := waittest.Deadline(t, "waiting for a connection", nil)
	go func() {
		connection, err := listener.Accept()
		if err == nil {
			_, _ = connection.Read(make([]byte, 1)) // of the client's TLS handshake
			pass()
		}
	}()
	a, err := Connect(&rest.Config{Host: "https://" + listener.Addr().String()}, noProxy)
	if err != nil {
		t.Fatal(err)
	}
	err = a.Client.RESTClient().Get().AbsPath("/version").Do(ctx).Error()
	if got := a.Explain(t.Context(), err); !strings.Contains(got.Message, " did not respond in time") {
		t.Errorf("explain(%v) = %+v", err, got)
	}
}
