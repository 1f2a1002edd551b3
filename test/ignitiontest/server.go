// SPDX-License-Identifier: Apache-2.0

package ignitiontest

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
)

// Server is a server on loopback that responds as HyperShift's ignition server, with a payload for one token.
type Server struct {
	*httptest.Server
	CA *certtest.CA

	mutex    sync.Mutex
	requests []*http.Request
}

// StartServer starts a server whose certificate is for name. The server ends with the test.
func StartServer(t *testing.T, name, token string, edit ...func(*x509.Certificate)) *Server {
	t.Helper()
	s := &Server{CA: certtest.NewCA(t, "ignition-root-ca")}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mutex.Lock()
		s.requests = append(s.requests, r)
		s.mutex.Unlock()
		respond(w, r, token)
	}))
	s.TLS = &tls.Config{
		Certificates: []tls.Certificate{s.CA.IssueServing(t, name, edit...)},
		NextProtos:   []string{"http/1.1"},
		MinVersion:   tls.VersionTLS12,
	}
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // tests cause refused handshakes
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func respond(w http.ResponseWriter, r *http.Request, token string) {
	encoded, isBearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	sent, err := base64.StdEncoding.DecodeString(encoded)
	switch {
	case !strings.HasPrefix(r.URL.Path, "/ignition"):
		http.NotFound(w, r)
	case !isBearer || err != nil:
		http.Error(w, "Unauthorized", http.StatusUnauthorized)
	case string(sent) != token:
		http.Error(w, "Token not found", http.StatusNetworkAuthenticationRequired)
	default:
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_, _ = io.WriteString(w, `{"ignition":{"version":"3.2.0"}}`)
	}
}

// Requests returns the requests that the server has received.
func (s *Server) Requests() []*http.Request {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return append([]*http.Request{}, s.requests...)
}

// UserData returns user data of NodePool clusters/workers that refers to the server.
func (s *Server) UserData(t *testing.T, token string, edit ...func(*ignition.Values)) *ignition.UserData {
	t.Helper()
	values := ignition.Values{
		Endpoint: s.URL, Token: []byte(token), CA: s.CA.PEM, NodePool: "clusters/workers", Hash: "844282c1",
	}
	for _, change := range edit {
		change(&values)
	}
	userData, err := ignition.NewUserData(values)
	if err != nil {
		t.Fatal(err)
	}
	return userData
}
