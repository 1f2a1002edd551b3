package kube

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
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
			want:  "on the way to https://api.example.com:6443 cannot be reached", remedy: "curl -v --proxy",
		},
		"no such name": {
			proxy: "proxy.invalid:3128", want: "the proxy proxy.invalid:3128 on the way to",
			remedy: "HTTPS_PROXY",
		},
		"wants a password": {
			proxy: answering(407), want: "wants a user and a password (407)",
			remedy: "USER:PASSWORD@",
		},
		"not allowed": {
			proxy:  answering(403),
			want:   "does not let this machine through to api.example.com:6443 (403)",
			remedy: "# allow CONNECT to api.example.com:6443",
		},
		"bad gateway": {
			proxy: answering(502), want: "could not reach api.example.com:6443 (502 Bad Gateway)",
			remedy: "NO_PROXY",
		},
		"too slow": {
			proxy: answering(504), want: "could not reach api.example.com:6443 (504 Gateway Timeout)",
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
			if !strings.Contains(got.Text, test.want) || !strings.Contains(string(got.Remedy), test.remedy) || got.Permanent ||
				got.Code != report.Failed {
				t.Errorf("explain(%v)\n = %+v\nwant %q, %q", err, got, test.want, test.remedy)
			}
			if all := got.Text + string(got.Remedy); strings.Contains(all, "hunter2") {
				t.Errorf("the proxy's password is told: %s", all)
			}
		})
	}
	if got, known := explainProxy(errors.New("Forbidden"), nil, "https://api.example.com"); known {
		t.Errorf("without a proxy one is blamed: %+v", got)
	}
}

// Errors that loopback does not produce.
func TestExplainConnection(t *testing.T) {
	const server = "https://api.example.com:6443"
	dial := func(number syscall.Errno) error {
		return &url.Error{
			Op: "Get", URL: server,
			Err: &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", number)},
		}
	}
	tests := map[string]struct {
		err          error
		want, remedy string
	}{
		"no route to host": {
			err: dial(syscall.EHOSTUNREACH), want: "there is no way to " + server,
			remedy: "ip route get $(getent ahosts api.example.com",
		},
		"no network": {
			err: dial(syscall.ENETUNREACH), want: "there is no way to " + server,
			remedy: "ip route get",
		},
		"resolver is away": {
			err:  &net.DNSError{Name: "api.example.com", Err: "i/o timeout", IsTimeout: true},
			want: "cannot be looked up: i/o timeout", remedy: "getent ahosts api.example.com",
		},
		"packets dropped": {
			err: dial(syscall.ETIMEDOUT), want: "no answer from " + server + " in time",
			remedy: "curl",
		},
		"time is up": {
			err:  fmt.Errorf("asking: %w", context.DeadlineExceeded),
			want: "a firewall that drops packets", remedy: "curl",
		},
		"connection reset": {err: dial(syscall.ECONNRESET), want: "connection reset by peer", remedy: "curl"},
	}
	for name, test := range tests {
		got := Explain(test.err, server)
		if !strings.Contains(got.Text, test.want) || !strings.Contains(string(got.Remedy), test.remedy) || got.Permanent {
			t.Errorf("%s: explain() = %+v, want %q, %q", name, got, test.want, test.remedy)
		}
	}
}

// A server that accepts the connection and never responds.
func TestExplainUnresponsiveServer(t *testing.T) {
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close() // connections remain in its backlog
	a, err := Connect(&rest.Config{Host: "https://" + listener.Addr().String()}, noProxy)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	err = a.Client.RESTClient().Get().AbsPath("/version").Do(ctx).Error()
	if got := a.Explain(t.Context(), err); !strings.Contains(got.Text, "no answer from "+a.Server+" in time") {
		t.Errorf("explain(%v) = %+v", err, got)
	}
}
