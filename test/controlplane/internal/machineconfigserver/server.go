// SPDX-License-Identifier: Apache-2.0

// Package machineconfigserver simulates the machine-config server of a standalone OpenShift
// cluster. It serves the configuration of the worker pool to unauthenticated clients, in the
// Ignition spec that the Accept header requests. Source: machine-config-operator, pkg/server.
package machineconfigserver

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"path"
	"strconv"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/test/controlplane/internal/payload"
	"github.com/hcp-node-agent/hcp-node-agent/test/controlplane/internal/pki"
)

// caName is the common name of the installer's root CA. As on a real cluster, the CA of the API
// server is a different CA with the same name.
const caName = "root-ca"

// Server serves the worker pool.
type Server struct {
	worker    payload.Worker
	log       *log.Logger
	authority *pki.Authority
	http      *http.Server
}

// New creates a server with its own CA. The certificate is for the API's internal name.
func New(host string, worker payload.Worker, logger *log.Logger) (*Server, error) {
	authority, err := pki.NewAuthority(caName)
	if err != nil {
		return nil, err
	}
	pair, err := authority.Issue(pki.Leaf{CommonName: "system:machine-config-server", DNSNames: []string{host}})
	if err != nil {
		return nil, err
	}
	certificate, err := pair.TLS()
	if err != nil {
		return nil, fmt.Errorf("loading the machine-config server's certificate: %w", err)
	}
	s := &Server{worker: worker, log: logger, authority: authority}
	mux := http.NewServeMux()
	mux.HandleFunc("/config/", s.config)
	mux.HandleFunc("/healthz", respondEmpty(http.StatusOK))
	mux.HandleFunc("/", respondEmpty(http.StatusNotFound))
	s.http = &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 10 * time.Second,
		TLSConfig: &tls.Config{
			MinVersion:   tls.VersionTLS12,
			NextProtos:   []string{"http/1.1"},
			Certificates: []tls.Certificate{certificate},
		},
		// Non-nil and empty: HTTP/2 is disabled.
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
		ErrorLog:     logger,
	}
	return s, nil
}

// CA returns the CA certificate in PEM, as worker.ign contains it.
func (s *Server) CA() []byte { return s.authority.Certificate }

// Serve serves a listener until Close.
func (s *Server) Serve(listener net.Listener) error {
	if err := s.http.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving machine configs: %w", err)
	}
	return nil
}

// Close closes every connection.
func (s *Server) Close() error { return s.http.Close() }

// respondEmpty responds without a body.
func respondEmpty(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		status := status
		if !isReadRequest(r) {
			status = http.StatusMethodNotAllowed
		}
		w.Header().Set("Content-Length", "0")
		w.WriteHeader(status)
	}
}

func isReadRequest(r *http.Request) bool {
	return r.Method == http.MethodGet || r.Method == http.MethodHead
}

// config responds to a request for a pool, the last part of the path. The log contains the
// requested pool and spec, and whether the request carried an unneeded credential.
func (s *Server) config(w http.ResponseWriter, r *http.Request) {
	if !isReadRequest(r) {
		respondEmpty(http.StatusMethodNotAllowed)(w, r)
		return
	}
	status, body := s.respond(path.Base(r.URL.Path), r.Header.Get("Accept"))
	s.log.Printf("%s %s Accept: %q User-Agent: %q Authorization: %t: %d", r.Method, r.URL.Path, r.Header.Get("Accept"),
		r.UserAgent(), r.Header.Get("Authorization") != "", status)
	if status != http.StatusOK {
		respondEmpty(status)(w, r)
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if r.Method == http.MethodGet {
		_, _ = w.Write(body) // the client has closed the connection
	}
}

// respond returns status 400 for an unsupported spec and status 500 for an unknown pool, because
// the upstream server fails to get that pool from the cluster.
func (s *Server) respond(pool, accept string) (status int, body []byte) {
	requested, ok := negotiate(accept)
	if !ok {
		return http.StatusBadRequest, nil
	}
	if pool != "worker" {
		return http.StatusInternalServerError, nil
	}
	encode := s.worker.EncodeV2
	if requested.major == 3 {
		encode = func() ([]byte, error) { return s.worker.Encode(requested.minor) }
	}
	body, err := encode()
	if err != nil {
		s.log.Print(err)
		return http.StatusInternalServerError, nil
	}
	return http.StatusOK, body
}
