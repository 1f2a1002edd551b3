// SPDX-License-Identifier: Apache-2.0

package ignitionserver_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"io"
	"log"
	"net"
	"net/http"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/test/controlplane/internal/ignitionserver"
)

const (
	host    = "ignition.demo.example.com"
	pool    = "clusters/demo-workers"
	hash    = "0a1b2c3d"
	payload = `{"ignition":{"version":"3.2.0"}}`
)

// testServer is a server on the loopback interface and the data that a client needs to connect.
type testServer struct {
	*ignitionserver.Server
	address string
	roots   *x509.CertPool
}

func start(t *testing.T, body string) testServer {
	t.Helper()
	server, err := ignitionserver.New(ignitionserver.Config{
		Host: host, NodePool: pool, Hash: hash, Payload: []byte(body), Log: log.New(io.Discard, "", 0),
	})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(server.CA()) {
		t.Fatal("the CA is no PEM")
	}
	return testServer{server, listener.Addr().String(), roots}
}

// client returns a client that connects to the server for any host name, and offers HTTP/2.
func (r testServer) client(t *testing.T) *http.Client {
	transport := &http.Transport{
		Dial:              func(string, string) (net.Conn, error) { return net.Dial("tcp4", r.address) },
		TLSClientConfig:   &tls.Config{RootCAs: r.roots, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2: true,
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func (r testServer) bearer() string {
	return "Bearer " + base64.StdEncoding.EncodeToString([]byte(r.Token()))
}

// response is a response whose body has been read.
type response struct {
	status   int
	protocol string
	header   http.Header
	body     string
}

// get sends one request. A truncated response is returned with the error.
func (r testServer) get(t *testing.T, path string, header map[string]string) (response, error) {
	t.Helper()
	return r.do(t, http.MethodGet, path, header)
}

func (r testServer) do(t *testing.T, method, path string, header map[string]string) (response, error) {
	t.Helper()
	request, err := http.NewRequest(method, "https://"+host+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range header {
		request.Header.Set(name, value)
	}
	resp, err := r.client(t).Do(request)
	if err != nil {
		return response{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return response{resp.StatusCode, resp.Proto, resp.Header, string(body)}, err
}

// status sends one request and returns the status of the response.
func (r testServer) status(t *testing.T, token string) int {
	t.Helper()
	got, err := r.get(t, "/ignition", map[string]string{
		"Authorization": "Bearer " + base64.StdEncoding.EncodeToString([]byte(token)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return got.status
}
