// SPDX-License-Identifier: Apache-2.0

package ignition

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

const servedPayload = `{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/a","contents":{"source":"data:,a"}}]}}`

// ignitionServer is a test server on loopback, HTTP/1.1 over TLS 1.2 or newer. It records its
// requests.
type ignitionServer struct {
	*httptest.Server
	ca *certtest.CA

	mutex    sync.Mutex
	requests []*http.Request
}

// startServer starts a server whose certificate is for name. Each request is passed to the next
// handler, and all further requests to the last one.
func startServer(t *testing.T, ca *certtest.CA, name string, handlers ...http.HandlerFunc) *ignitionServer {
	t.Helper()
	return startServerWith(t, ca, ca.IssueServing(t, name), handlers...)
}

func startServerWith(t *testing.T, ca *certtest.CA, leaf tls.Certificate,
	handlers ...http.HandlerFunc,
) *ignitionServer {
	t.Helper()
	s := &ignitionServer{ca: ca}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mutex.Lock()
		n := min(len(s.requests), len(handlers)-1)
		s.requests = append(s.requests, r)
		s.mutex.Unlock()
		handlers[n](w, r)
	}))
	s.TLS = &tls.Config{
		Certificates: []tls.Certificate{leaf},
		NextProtos:   []string{"h2", "http/1.1"},
		MinVersion:   tls.VersionTLS12,
	}
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // the tests cause refused handshakes
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// userData returns user data for the server with the name in its URL.
func (s *ignitionServer) userData(t *testing.T, edit ...func(*Values)) *UserData {
	t.Helper()
	values := Values{
		Endpoint: s.URL,
		Token:    []byte(testUUID),
		CA:       s.ca.PEM,
		NodePool: "clusters/demo-workers",
		Hash:     "844282c1",
	}
	for _, e := range edit {
		e(&values)
	}
	userData, err := NewUserData(values)
	if err != nil {
		t.Fatal(err)
	}
	return userData
}

func (s *ignitionServer) recorded() []*http.Request {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return append([]*http.Request{}, s.requests...)
}

// respond returns a handler that sends a status, a content type and a body.
func respond(status int, kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func servePayload(w http.ResponseWriter, r *http.Request) {
	respond(http.StatusOK, "application/json; charset=utf-8", servedPayload)(w, r)
}

func rejectUnknownToken(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "Token not found", http.StatusNetworkAuthenticationRequired)
}

// respondAsHAProxy responds as the proxy in front of a server that is down.
func respondAsHAProxy(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html")
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = io.WriteString(w,
		"<html><body><h1>503 Service Unavailable</h1>\nNo server is available to handle this request.\n</body></html>\n")
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
		lines = append(lines, string(event.Kind)+" "+event.Message+" "+string(event.Remedy))
	}
	return strings.Join(lines, "\n")
}

// quickFetcher returns a fetcher with short timeouts.
func quickFetcher() Fetcher {
	return Fetcher{RetryTimeout: 500 * time.Millisecond, initialBackoff: time.Millisecond}
}

// patientFetcher returns a fetcher that retries until the server succeeds.
func retryingFetcher(sink *events) Fetcher {
	return Fetcher{
		Log: report.Log{Sink: sink, Step: "fetch"}, RetryTimeout: waittest.Timeout, initialBackoff: time.Millisecond,
	}
}

func validFor(from, until time.Duration) func(*x509.Certificate) {
	return func(c *x509.Certificate) {
		c.NotBefore, c.NotAfter = time.Now().Add(from), time.Now().Add(until)
	}
}
