package ignition

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

const servedPayload = `{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/a","contents":{"source":"data:,a"}}]}}`

// ignitionServer is a test server on loopback, HTTP/1.1 over TLS 1.2 or newer. It records its
// requests.
type ignitionServer struct {
	*httptest.Server
	ca *certtest.Authority

	mutex    sync.Mutex
	requests []*http.Request
}

// serve starts a server whose certificate is for name. Each request is passed to the next
// handler, and all further requests to the last one.
func serve(t *testing.T, ca *certtest.Authority, name string, handlers ...http.HandlerFunc) *ignitionServer {
	t.Helper()
	return serveWith(t, ca, ca.Serve(t, name), handlers...)
}

func serveWith(t *testing.T, ca *certtest.Authority, leaf tls.Certificate, handlers ...http.HandlerFunc) *ignitionServer {
	t.Helper()
	s := &ignitionServer{ca: ca}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mutex.Lock()
		n := min(len(s.requests), len(handlers)-1)
		s.requests = append(s.requests, r)
		s.mutex.Unlock()
		handlers[n](w, r)
	}))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{leaf}, NextProtos: []string{"h2", "http/1.1"}, MinVersion: tls.VersionTLS12}
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // the tests cause refused handshakes
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// stub returns user data for the server with the name in its URL.
func (s *ignitionServer) stub(t *testing.T, edit ...func(*Values)) *Stub {
	t.Helper()
	values := Values{Endpoint: s.URL, Token: []byte(testUUID), CA: s.ca.PEM, NodePool: "clusters/demo-workers", Hash: "844282c1"}
	for _, e := range edit {
		e(&values)
	}
	userData, err := NewStub(values)
	if err != nil {
		t.Fatal(err)
	}
	return userData
}

func (s *ignitionServer) got() []*http.Request {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return append([]*http.Request{}, s.requests...)
}

// answer returns a handler that sends a status, a content type and a body.
func answer(status int, kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func served(w http.ResponseWriter, r *http.Request) {
	answer(http.StatusOK, "application/json; charset=utf-8", servedPayload)(w, r)
}

func unknownTokenAnswer(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "Token not found", http.StatusNetworkAuthenticationRequired)
}

// haProxy responds as the proxy in front of a server that is down.
func haProxy(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html")
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = io.WriteString(w, "<html><body><h1>503 Service Unavailable</h1>\nNo server is available to handle this request.\n</body></html>\n")
}

// events collects the reported events.
type events struct {
	mutex sync.Mutex
	list  []report.Event
}

func (e *events) Emit(event report.Event) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	e.list = append(e.list, event)
}

func (e *events) text() string {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	var lines []string
	for _, event := range e.list {
		lines = append(lines, string(event.Kind)+" "+event.Message+" "+event.Remedy)
	}
	return strings.Join(lines, "\n")
}

// quick returns a fetcher with short timeouts.
func quick() Fetcher { return Fetcher{Budget: 500 * time.Millisecond, pause: time.Millisecond} }

// patient returns a fetcher that retries until the server succeeds.
func patient(log *events) Fetcher {
	return Fetcher{Log: report.Log{Sink: log, Step: "fetch"}, Budget: time.Minute, pause: time.Millisecond}
}

// refusedPort returns an address on loopback without a listener.
func refusedPort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func valid(from, until time.Duration) func(*x509.Certificate) {
	return func(c *x509.Certificate) {
		c.NotBefore, c.NotAfter = time.Now().Add(from), time.Now().Add(until)
	}
}
