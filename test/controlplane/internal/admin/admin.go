// SPDX-License-Identifier: Apache-2.0

// Package admin implements the admin endpoint of the test environment. It returns the requests
// that the Ignition server has received, simulates faults of that server and of the cluster's
// network, and replaces the pull secret and the published CAs.
package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/hcp-node-agent/hcp-node-agent/test/controlplane/internal/api"
	"github.com/hcp-node-agent/hcp-node-agent/test/controlplane/internal/ignitionserver"
)

// maxBody limits the body of a request, in bytes.
const maxBody = 16 << 20

// Network controls the stand-in of the network operator.
type Network interface {
	Deployed(context.Context) (bool, error)
	Deploy(context.Context) error
	Remove(context.Context) error
}

// Registry controls the image registry's password.
type Registry interface {
	RotatePassword()
	ResetPassword()
	PullSecret() (string, error)
}

// Cluster controls the CAs of the API server that the cluster publishes.
type Cluster interface {
	PublishCAs(more []byte) error
}

// Server implements the admin endpoint.
type Server struct {
	Ignition *ignitionserver.Server
	UserData func() ([]byte, error) // returns user data with the current token
	Network  Network
	Registry Registry
	Cluster  Cluster
}

// Handler returns the handler of the endpoint; README.md lists the requests.
func (s Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /state", s.state)
	mux.HandleFunc("GET /user-data", respond(s.UserData))
	mux.HandleFunc("PUT /faults", s.faults)
	mux.HandleFunc("PUT /payload", s.handleBody(func(r *http.Request, body []byte) error {
		s.Ignition.SetPayload(body, r.URL.Query().Has("unchecked"))
		return nil
	}))
	mux.HandleFunc("PUT /network", s.network)
	mux.HandleFunc("POST /token/rotate", s.handle(func(*http.Request) error {
		s.Ignition.RotateToken()
		return nil
	}))
	mux.HandleFunc("POST /token/expire", s.handle(func(*http.Request) error {
		s.Ignition.RotateToken() // twice, because the previous token is valid for one rotation
		s.Ignition.RotateToken()
		return nil
	}))
	mux.HandleFunc("POST /token/delete", s.handle(func(*http.Request) error {
		s.Ignition.DeleteTokens()
		return nil
	}))
	mux.HandleFunc("POST /pull-secret/rotate", respond(func() ([]byte, error) {
		s.Registry.RotatePassword()
		secret, err := s.Registry.PullSecret()
		return []byte(secret), err
	}))
	mux.HandleFunc("PUT /published-cas", s.handleBody(func(_ *http.Request, body []byte) error {
		return s.Cluster.PublishCAs(body)
	}))
	mux.HandleFunc("POST /reset", s.handle(func(r *http.Request) error {
		s.Ignition.Reset()
		s.Registry.ResetPassword()
		if err := s.Cluster.PublishCAs(nil); err != nil {
			return err
		}
		return s.Network.Deploy(r.Context())
	}))
	return mux
}

func (s Server) state(w http.ResponseWriter, r *http.Request) {
	state := s.Ignition.State()
	deployed, err := s.Network.Deployed(r.Context())
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	state.Network = deployed
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(state)
}

// respond returns a handler that responds with a JSON document.
func respond(get func() ([]byte, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		content, err := get()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(content)
	}
}

func (s Server) faults(w http.ResponseWriter, r *http.Request) {
	s.handle(func(r *http.Request) error {
		var faults api.Faults
		if err := decode(r, &faults); err != nil {
			return err
		}
		return badRequest(s.Ignition.SetFaults(faults))
	})(w, r)
}

// handleBody is handle for an action that uses the whole body of the request.
func (s Server) handleBody(action func(*http.Request, []byte) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.handle(func(r *http.Request) error {
			body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
			if err != nil {
				return badRequest(fmt.Errorf("reading the body: %w", err))
			}
			return action(r, body)
		})(w, r)
	}
}

func (s Server) network(w http.ResponseWriter, r *http.Request) {
	s.handle(func(r *http.Request) error {
		var network api.Network
		if err := decode(r, &network); err != nil {
			return err
		}
		if network.Deployed {
			return s.Network.Deploy(r.Context())
		}
		return s.Network.Remove(r.Context())
	})(w, r)
}

// handle responds with status 204, or with the error.
func (s Server) handle(action func(*http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var bad badRequestError
		switch err := action(r); {
		case err == nil:
			w.WriteHeader(http.StatusNoContent)
		case errors.As(err, &bad):
			http.Error(w, err.Error(), http.StatusBadRequest)
		default:
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}
}

// badRequestError is an error caused by the client.
type badRequestError struct{ error }

func badRequest(err error) error {
	if err == nil {
		return nil
	}
	return badRequestError{err}
}

func decode(r *http.Request, into any) error {
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return badRequest(fmt.Errorf("decoding the request: %w", err))
	}
	return nil
}
