// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
)

func TestReach(t *testing.T) {
	start := func(withTLS bool, config *tls.Config) string {
		server := httptest.NewUnstartedServer(http.NotFoundHandler())
		server.Config.ErrorLog = log.New(io.Discard, "", 0) // the tests cause refused handshakes
		server.TLS = config
		if withTLS {
			server.StartTLS()
		} else {
			server.Start()
		}
		t.Cleanup(server.Close)
		return server.Listener.Addr().String()
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	for name, test := range map[string]struct {
		address string
		want    Kind
	}{
		"a server of an unknown CA": {start(true, nil), ""},
		"a server that requires a client certificate": {
			start(true, &tls.Config{ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS12}), "",
		},
		"a server of TLS 1.2 that requires a client certificate": {
			start(true, &tls.Config{ //nolint:gosec // the case tests TLS 1.2
				ClientAuth: tls.RequireAnyClientCert,
				MinVersion: tls.VersionTLS12,
				MaxVersion: tls.VersionTLS12,
			}), "",
		},
		"a server without TLS": {start(false, nil), NoTLS},
		"no server":            {listener.Addr().String(), Unreachable},
	} {
		t.Run(name, func(t *testing.T) {
			failed := Reach(t.Context(), &url.URL{Scheme: "https", Host: test.address},
				func(*url.URL) (*url.URL, error) { return nil, nil })
			got := Kind("")
			if failed != nil {
				got = failed.Kind
			}
			if got != test.want {
				t.Errorf("Reach() = %v, want kind %q", failed, test.want)
			}
		})
	}
}
