// SPDX-License-Identifier: Apache-2.0

package machineconfigserver_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/test/controlplane/internal/machineconfigserver"
	"github.com/hcp-node-agent/hcp-node-agent/test/controlplane/internal/payload"
	"github.com/hcp-node-agent/hcp-node-agent/test/controlplane/internal/stack"
)

const host = "api-int.demo.example.com"

// startServer starts a server on the loopback interface. It returns a client that trusts the
// server and offers HTTP/2, and the server's log.
func startServer(t *testing.T) (*http.Client, *strings.Builder) {
	t.Helper()
	worker, err := payload.BuildWorker(payload.Inputs{
		Stack:           stack.IPv4(),
		APIName:         host,
		Registry:        "registry.example.com:5000",
		BootstrapConfig: []byte("kind: Config\n"),
	})
	if err != nil {
		t.Fatal(err)
	}
	var logged strings.Builder
	server, err := machineconfigserver.New(host, worker, log.New(&logged, "", 0))
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(server.CA()) {
		t.Fatal("the CA is no PEM")
	}
	transport := &http.Transport{
		Dial:              func(string, string) (net.Conn, error) { return net.Dial("tcp4", listener.Addr().String()) },
		TLSClientConfig:   &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2: true,
	}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return &http.Client{Transport: transport}, &logged
}

func TestResponses(t *testing.T) {
	client, logged := startServer(t)
	for name, test := range map[string]struct {
		method, path, accept string
		status               int
		version              string // spec version of the body, "" for none
	}{
		"spec 3": {
			"GET", "/config/worker", "application/vnd.coreos.ignition+json;version=3.2.0, */*;q=0.1", 200, "3.2.0",
		},
		"newer": {
			"GET", "/config/worker", "application/vnd.coreos.ignition+json;version=3.6.0, */*;q=0.1", 200, "3.4.0",
		},
		"curl":             {"GET", "/config/worker", "*/*", 200, "2.2.0"},
		"head":             {"HEAD", "/config/worker", "*/*", 200, ""},
		"unknown spec":     {"GET", "/config/worker", "application/vnd.coreos.ignition+json;version=4.0.0", 400, ""},
		"unknown pool":     {"GET", "/config/gpu", "*/*", 500, ""},
		"written":          {"POST", "/config/worker", "*/*", 405, ""},
		"health":           {"GET", "/healthz", "", 200, ""},
		"written health":   {"PUT", "/healthz", "", 405, ""},
		"HyperShift's":     {"GET", "/ignition", "", 404, ""},
		"written nonsense": {"DELETE", "/ignition", "", 405, ""},
	} {
		t.Run(name, func(t *testing.T) {
			request, err := http.NewRequestWithContext(t.Context(), test.method, "https://"+host+test.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Accept", test.accept)
			response, err := client.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			if err != nil {
				t.Fatal(err)
			}
			var config struct{ Ignition struct{ Version string } }
			if len(body) > 0 {
				err = json.Unmarshal(body, &config)
			}
			if err != nil || response.StatusCode != test.status || config.Ignition.Version != test.version ||
				response.ProtoMajor != 1 {
				t.Errorf("HTTP/%d %d, a body of spec %q, %v", response.ProtoMajor, response.StatusCode, config.Ignition.Version,
					err)
			}
			if test.method == http.MethodHead && response.ContentLength < 1000 {
				t.Errorf("HEAD returns %d bytes", response.ContentLength)
			}
		})
	}
	if !strings.Contains(logged.String(),
		`GET /config/worker Accept: "application/vnd.coreos.ignition+json;version=3.6.0, */*;q=0.1"`) {
		t.Errorf("the log lacks the requests: %s", logged.String())
	}
}
