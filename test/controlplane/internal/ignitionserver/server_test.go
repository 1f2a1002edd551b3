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

// running is a server on loopback and what a client needs to reach it.
type running struct {
	*ignitionserver.Server
	address string
	roots   *x509.CertPool
}

func start(t *testing.T, body string) running {
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
	return running{server, listener.Addr().String(), roots}
}

// client connects to the server whatever the URL's host is, and offers HTTP/2.
func (r running) client(t *testing.T) *http.Client {
	transport := &http.Transport{
		Dial:              func(string, string) (net.Conn, error) { return net.Dial("tcp4", r.address) },
		TLSClientConfig:   &tls.Config{RootCAs: r.roots, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2: true,
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func (r running) bearer() string {
	return "Bearer " + base64.StdEncoding.EncodeToString([]byte(r.Token()))
}

// answer is one response, read to its end.
type answer struct {
	status   int
	protocol string
	header   http.Header
	body     string
}

// get sends one request. An answer that was cut is returned with the error.
func (r running) get(t *testing.T, path string, header map[string]string) (answer, error) {
	t.Helper()
	return r.do(t, http.MethodGet, path, header)
}

func (r running) do(t *testing.T, method, path string, header map[string]string) (answer, error) {
	t.Helper()
	request, err := http.NewRequest(method, "https://"+host+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range header {
		request.Header.Set(name, value)
	}
	response, err := r.client(t).Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Proto, response.Header, string(body)}, err
}

// status sends one request and returns the status that it got.
func (r running) status(t *testing.T, token string) int {
	t.Helper()
	got, err := r.get(t, "/ignition", map[string]string{
		"Authorization": "Bearer " + base64.StdEncoding.EncodeToString([]byte(token)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return got.status
}
