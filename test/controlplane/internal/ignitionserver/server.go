// Package ignitionserver answers as HyperShift's ignition-server and the
// HAProxy in front of it: same codes, bodies, headers, TLS, timeouts and token
// rules. It is the one part of the bed that is not the real thing, and
// misbehaves on demand.
package ignitionserver

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/test/controlplane/internal/api"
	"github.com/hcp-node-agent/hcp-node-agent/test/controlplane/internal/pki"
)

// caName is the common name of HyperShift's ignition authority.
const caName = "ignition-root-ca"

// keptRequests bounds the request log.
const keptRequests = 1000

// Config is what the server serves to whom.
type Config struct {
	Host     string // the one name in its certificate
	NodePool string // "NAMESPACE/NAME"
	Hash     string // the NodePool's target config version
	Payload  []byte
	Log      *log.Logger
}

// Server is the ignition server of one NodePool.
type Server struct {
	config       Config
	authority    *pki.Authority
	certificates map[string]*tls.Certificate
	http         *http.Server

	mu        sync.Mutex
	tokens    tokens
	payload   []byte
	unchecked bool // serve the payload even if it is no Ignition
	faults    api.Faults
	faultsAt  time.Time // when they were set
	requests  int
	log       []api.Request
	reached   []api.Reached
}

// New makes a server with an authority and a token of its own.
func New(config Config) (*Server, error) {
	authority, err := pki.NewAuthority(caName)
	if err != nil {
		return nil, err
	}
	certificates, err := servingCertificates(authority, config.Host)
	if err != nil {
		return nil, err
	}
	s := &Server{
		config:       config,
		authority:    authority,
		certificates: certificates,
		payload:      config.Payload,
		tokens:       newTokens(),
	}
	s.http = &http.Server{
		Handler:      s,
		ReadTimeout:  5 * time.Second,
		WriteTimeout: 10 * time.Second,
		TLSConfig:    s.tlsConfig(),
		// Non-nil and empty: no HTTP/2, whatever the client offers.
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
		ErrorLog:     config.Log,
	}
	return s, nil
}

// CA is the authority's certificate in PEM, as the stub carries it.
func (s *Server) CA() []byte { return s.authority.Certificate }

// Serve answers on a listener until Close.
func (s *Server) Serve(listener net.Listener) error {
	err := s.http.ServeTLS(listener, "", "")
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serving ignition: %w", err)
}

// Close cuts every connection.
func (s *Server) Close() error { return s.http.Close() }

// Token is the current one in plain text, or "" after DeleteTokens.
func (s *Server) Token() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tokens.current
}

// RotateToken makes a new token; the one before stays good until the next call.
func (s *Server) RotateToken() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens.rotate()
}

// DeleteTokens makes every token bad until RotateToken.
func (s *Server) DeleteTokens() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens.delete()
}

// SetPayload replaces the payload. An unchecked one is served even if it is no
// Ignition at all, which the real server refuses with a 500.
func (s *Server) SetPayload(payload []byte, unchecked bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.payload, s.unchecked = payload, unchecked
}

// Reset takes back every fault and the replaced payload, and makes a token if
// there is none. Tokens, the log and the counters stay.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = api.Faults{}
	s.payload, s.unchecked = s.config.Payload, false
	if s.tokens.current == "" {
		s.tokens.rotate()
	}
}
