// SPDX-License-Identifier: Apache-2.0

// Package ignitionserver simulates HyperShift's ignition-server and the HAProxy in front of it:
// the same codes, bodies, headers, TLS settings, timeouts and token rules. It is the one
// component of the test environment that is a reimplementation, and it simulates faults on
// request.
package ignitionserver

import (
	"crypto/rand"
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

// caName is the common name of HyperShift's Ignition CA.
const caName = "ignition-root-ca"

// maxRequests limits the request log.
const maxRequests = 1000

// Config configures the server.
type Config struct {
	Host     string // the only name in the certificate
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
	tls          *tls.Config

	mu        sync.Mutex
	tokens    tokens
	payload   []byte
	unchecked bool // serve the payload even if it is not an Ignition config
	faults    api.Faults
	faultsAt  time.Time // time of the last SetFaults
	requests  int
	log       []api.Request
	reached   []api.Reached
}

// New creates a server with its own CA and a token.
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
	mux := http.NewServeMux() // redirects paths that are not clean, with status 307, before the handler gets them
	mux.Handle("/", s)
	s.http = &http.Server{
		Handler:      mux,
		ReadTimeout:  5 * time.Second,
		WriteTimeout: 10 * time.Second,
		ErrorLog:     config.Log,
	}
	s.tls = s.tlsConfig()
	return s, s.endSessions()
}

// CA returns the CA certificate in PEM, as the user data contains it.
func (s *Server) CA() []byte { return s.authority.Certificate }

// Serve serves a listener until Close.
func (s *Server) Serve(listener net.Listener) error {
	err := s.http.Serve(tls.NewListener(listener, s.tls))
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serving ignition: %w", err)
}

// endSessions makes each client do a whole handshake: a resumed session does not send the certificate, so a certificate
// fault would have no effect.
func (s *Server) endSessions() error {
	var key [32]byte
	if _, err := rand.Read(key[:]); err != nil {
		return fmt.Errorf("making the key of the sessions: %w", err)
	}
	s.tls.SetSessionTicketKeys([][32]byte{key})
	return nil
}

// Close closes every connection.
func (s *Server) Close() error { return s.http.Close() }

// Token returns the current token in plain text, or "" after DeleteTokens.
func (s *Server) Token() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tokens.current
}

// RotateToken creates a new token. The previous token is valid until the next call.
func (s *Server) RotateToken() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens.rotate()
}

// DeleteTokens invalidates every token until RotateToken.
func (s *Server) DeleteTokens() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens.delete()
}

// SetPayload replaces the payload. An unchecked payload is served even if it is not an Ignition
// config, for which the upstream server returns status 500.
func (s *Server) SetPayload(payload []byte, unchecked bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.payload, s.unchecked = payload, unchecked
}

// Reset clears every fault, restores the payload, and creates a token if none exists. Valid
// tokens, the log and the counters remain.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = api.Faults{}
	s.payload, s.unchecked = s.config.Payload, false
	if s.tokens.current == "" {
		s.tokens.rotate()
	}
}
