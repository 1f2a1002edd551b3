// SPDX-License-Identifier: Apache-2.0

package admin_test

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/test/controlplane/internal/admin"
	"github.com/hcp-node-agent/hcp-node-agent/test/controlplane/internal/api"
	"github.com/hcp-node-agent/hcp-node-agent/test/controlplane/internal/ignitionserver"
)

// network is a Network without a cluster.
type network struct{ deployed bool }

func (n *network) Deployed(context.Context) (bool, error) { return n.deployed, nil }
func (n *network) Deploy(context.Context) error           { n.deployed = true; return nil }
func (n *network) Remove(context.Context) error           { n.deployed = false; return nil }

// registry is a Registry without a server.
type registry struct{ password string }

func (r *registry) RotatePassword()             { r.password = "another" }
func (r *registry) ResetPassword()              { r.password = "first" }
func (r *registry) PullSecret() (string, error) { return r.password, nil }

// cluster is a Cluster without processes.
type cluster struct{}

func (cluster) PublishCAs([]byte) error { return nil }

func newServer(t *testing.T) (http.Handler, *ignitionserver.Server) {
	t.Helper()
	server, err := ignitionserver.New(ignitionserver.Config{
		Host: "ignition.demo.example.com", Payload: []byte("{}"), Log: log.New(io.Discard, "", 0),
	})
	if err != nil {
		t.Fatal(err)
	}
	return admin.Server{
		Ignition: server,
		UserData: func() ([]byte, error) { return []byte("user data with " + server.Token()), nil },
		Network:  &network{deployed: true},
		Registry: &registry{},
		Cluster:  cluster{},
	}.Handler(), server
}

func send(t *testing.T, handler http.Handler, method, path, body string) (int, string) {
	t.Helper()
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequest(method, path, strings.NewReader(body)))
	return recorder.Code, recorder.Body.String()
}

func state(t *testing.T, handler http.Handler) api.State {
	t.Helper()
	status, body := send(t, handler, "GET", "/state", "")
	var state api.State
	if err := json.Unmarshal([]byte(body), &state); err != nil || status != http.StatusOK {
		t.Fatalf("GET /state: %d %q %v", status, body, err)
	}
	return state
}

func TestRequests(t *testing.T) {
	for _, test := range []struct {
		method, path, body string
		status             int
		shows              func(before, after api.State) bool
	}{
		{"PUT", "/faults", `{"truncateAfter":5,"certificate":"wrong-ca"}`, 204, func(_, s api.State) bool {
			return s.Faults == api.Faults{TruncateAfter: 5, Certificate: api.CertificateWrongCA}
		}},
		{"PUT", "/faults", `{"downSeconds":3600}`, 204, func(_, s api.State) bool { return s.Faults.DownSeconds > 3500 }},
		{"PUT", "/faults", `{"truncate":5}`, 400, unchanged},
		{"PUT", "/faults", `{"certificate":"nonsense"}`, 400, unchanged},
		{"PUT", "/faults", `{"truncateAfter":-1}`, 400, unchanged},
		{"PUT", "/payload", `{"ignition":{"version":"2.2.0"}}`, 204, func(_, s api.State) bool { return s.PayloadReplaced }},
		{"POST", "/token/rotate", "", 204, func(b, a api.State) bool { return a.TokenGeneration == b.TokenGeneration+1 }},
		{"POST", "/token/expire", "", 204, func(b, a api.State) bool { return a.TokenGeneration == b.TokenGeneration+2 }},
		{"PUT", "/network", `{"deployed":false}`, 204, func(b, a api.State) bool { return b.Network && !a.Network }},
		{"GET", "/faults", "", 405, unchanged},
		{"GET", "/", "", 404, unchanged},
	} {
		t.Run(test.method+" "+test.path+" "+test.body, func(t *testing.T) {
			handler, _ := newServer(t)
			before := state(t, handler)
			if status, body := send(t, handler, test.method, test.path, test.body); status != test.status {
				t.Errorf("got %d %q, want %d", status, body, test.status)
			}
			if after := state(t, handler); !test.shows(before, after) {
				t.Errorf("the state is %+v, was %+v", after, before)
			}
		})
	}
}

func unchanged(before, after api.State) bool {
	return before.Faults == after.Faults && !after.PayloadReplaced && after.TokenGeneration == before.TokenGeneration
}

func TestUserDataHasCurrentToken(t *testing.T) {
	handler, server := newServer(t)
	for _, path := range []string{"/token/rotate", "/token/expire"} {
		send(t, handler, "POST", path, "")
		if _, body := send(t, handler, "GET", "/user-data", ""); body != "user data with "+server.Token() {
			t.Errorf("after %s: %q", path, body)
		}
	}
	send(t, handler, "POST", "/token/delete", "")
	if server.Token() != "" {
		t.Error("the deleted token exists")
	}
}

func TestResetRevertsEverything(t *testing.T) {
	handler, server := newServer(t)
	send(t, handler, "PUT", "/faults", `{"downSeconds":3600}`)
	send(t, handler, "PUT", "/payload?unchecked", `broken`)
	send(t, handler, "PUT", "/network", `{"deployed":false}`)
	send(t, handler, "POST", "/token/delete", "")
	if status, body := send(t, handler, "POST", "/reset", ""); status != http.StatusNoContent {
		t.Fatalf("got %d %q", status, body)
	}
	after := state(t, handler)
	if after.Faults != (api.Faults{}) || after.PayloadReplaced || !after.Network || server.Token() == "" {
		t.Errorf("after a reset: %+v, token %q", after, server.Token())
	}
}
