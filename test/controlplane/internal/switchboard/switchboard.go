// Package switchboard is the bed's admin endpoint: it tells what the ignition
// server has seen and makes it, and the cluster's network, misbehave.
package switchboard

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

// maxPayload bounds what PUT /payload takes, in bytes.
const maxPayload = 16 << 20

// Network is the switch of the network operator's stand-in.
type Network interface {
	Deployed(context.Context) (bool, error)
	Deploy(context.Context) error
	Remove(context.Context) error
}

// Board is what the endpoint switches.
type Board struct {
	Ignition *ignitionserver.Server
	Stub     func() ([]byte, error) // with the current token
	Network  Network
}

// Handler answers the endpoint's requests; README.md lists them.
func (b Board) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /state", b.state)
	mux.HandleFunc("GET /stub", b.stub)
	mux.HandleFunc("PUT /faults", b.faults)
	mux.HandleFunc("PUT /payload", b.payload)
	mux.HandleFunc("PUT /network", b.network)
	mux.HandleFunc("POST /token/rotate", b.do(func(*http.Request) error {
		b.Ignition.RotateToken()
		return nil
	}))
	mux.HandleFunc("POST /token/expire", b.do(func(*http.Request) error {
		b.Ignition.RotateToken() // twice: the second makes the first one's predecessor bad
		b.Ignition.RotateToken()
		return nil
	}))
	mux.HandleFunc("POST /token/delete", b.do(func(*http.Request) error {
		b.Ignition.DeleteTokens()
		return nil
	}))
	mux.HandleFunc("POST /reset", b.do(func(r *http.Request) error {
		b.Ignition.Reset()
		return b.Network.Deploy(r.Context())
	}))
	return mux
}

func (b Board) state(w http.ResponseWriter, r *http.Request) {
	state := b.Ignition.State()
	deployed, err := b.Network.Deployed(r.Context())
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	state.Network = deployed
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(state)
}

func (b Board) stub(w http.ResponseWriter, _ *http.Request) {
	stub, err := b.Stub()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(stub)
}

func (b Board) faults(w http.ResponseWriter, r *http.Request) {
	b.do(func(r *http.Request) error {
		var faults api.Faults
		if err := decode(r, &faults); err != nil {
			return err
		}
		return badRequest(b.Ignition.SetFaults(faults))
	})(w, r)
}

func (b Board) payload(w http.ResponseWriter, r *http.Request) {
	b.do(func(r *http.Request) error {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxPayload))
		if err != nil {
			return badRequest(fmt.Errorf("reading the payload: %w", err))
		}
		b.Ignition.SetPayload(body, r.URL.Query().Has("unchecked"))
		return nil
	})(w, r)
}

func (b Board) network(w http.ResponseWriter, r *http.Request) {
	b.do(func(r *http.Request) error {
		var network api.Network
		if err := decode(r, &network); err != nil {
			return err
		}
		if network.Deployed {
			return b.Network.Deploy(r.Context())
		}
		return b.Network.Remove(r.Context())
	})(w, r)
}

// do answers 204, or the error.
func (b Board) do(action func(*http.Request) error) http.HandlerFunc {
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

// badRequestError is the caller's mistake.
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
