// Package machineconfigserver answers as the machine-config server of a
// standalone OpenShift cluster: the configuration of its worker pool, to
// everybody who asks, in the Ignition spec that the Accept header names.
// Source: machine-config-operator, pkg/server.
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

// caName is the common name of the installer's root authority: the API server's
// has the same one and is another, as on a real cluster.
const caName = "root-ca"

// Server serves the pool worker.
type Server struct {
	worker    payload.Worker
	log       *log.Logger
	authority *pki.Authority
	http      *http.Server
}

// New makes a server with an authority of its own, whose certificate is for the
// API's internal name.
func New(host string, worker payload.Worker, log *log.Logger) (*Server, error) {
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
	s := &Server{worker: worker, log: log, authority: authority}
	mux := http.NewServeMux()
	mux.HandleFunc("/config/", s.config)
	mux.HandleFunc("/healthz", empty(http.StatusOK))
	mux.HandleFunc("/", empty(http.StatusNotFound))
	s.http = &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 10 * time.Second,
		TLSConfig:         &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}, Certificates: []tls.Certificate{certificate}},
		// Non-nil and empty: no HTTP/2, whatever the client offers.
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
		ErrorLog:     log,
	}
	return s, nil
}

// CA is the authority's certificate in PEM, as worker.ign carries it.
func (s *Server) CA() []byte { return s.authority.Certificate }

// Serve answers on a listener until Close.
func (s *Server) Serve(listener net.Listener) error {
	if err := s.http.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving machine configs: %w", err)
	}
	return nil
}

// Close cuts every connection.
func (s *Server) Close() error { return s.http.Close() }

// empty answers without a body.
func empty(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		status := status
		if !reads(r) {
			status = http.StatusMethodNotAllowed
		}
		w.Header().Set("Content-Length", "0")
		w.WriteHeader(status)
	}
}

func reads(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// config answers a request for a pool, the last part of the path. The log says
// what was asked for, and whether a credential came along that nobody wants.
func (s *Server) config(w http.ResponseWriter, r *http.Request) {
	if !reads(r) {
		empty(http.StatusMethodNotAllowed)(w, r)
		return
	}
	status, body := s.answer(path.Base(r.URL.Path), r.Header.Get("Accept"))
	s.log.Printf("%s %s Accept: %q User-Agent: %q Authorization: %t: %d", r.Method, r.URL.Path, r.Header.Get("Accept"), r.UserAgent(), r.Header.Get("Authorization") != "", status)
	if status != http.StatusOK {
		empty(status)(w, r)
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if r.Method == http.MethodGet {
		_, _ = w.Write(body) // the client went away
	}
}

// answer is 400 for a spec that the server does not know, and 500 for a pool:
// in a cluster the server looks for it and finds none.
func (s *Server) answer(pool, accept string) (status int, body []byte) {
	asked, ok := negotiate(accept)
	if !ok {
		return http.StatusBadRequest, nil
	}
	if pool != "worker" {
		return http.StatusInternalServerError, nil
	}
	encode := s.worker.EncodeV2
	if asked.major == 3 {
		encode = func() ([]byte, error) { return s.worker.Encode(asked.minor) }
	}
	body, err := encode()
	if err != nil {
		s.log.Print(err)
		return http.StatusInternalServerError, nil
	}
	return http.StatusOK, body
}
