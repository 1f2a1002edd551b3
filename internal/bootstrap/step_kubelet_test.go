// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

// A join must restart kubelet if the Node was deleted, because kubelet registers a
// Node only when it starts. It must not do so if the API server is unreachable or
// before the first registration.
func TestJoinRestartsKubeletWhenTheNodeWasDeleted(t *testing.T) {
	const path = "/api/v1/nodes/worker-0"
	for name, test := range map[string]struct {
		registered bool
		code       int
		want       bool
	}{
		"deleted":               {true, http.StatusNotFound, true},
		"exists":                {true, http.StatusOK, false},
		"server is away":        {true, http.StatusServiceUnavailable, false},
		"not registered yet":    {false, http.StatusNotFound, false},
		"credential is refused": {true, http.StatusUnauthorized, false},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
				if request.URL.Path != path {
					t.Errorf("%s was requested", request.URL.Path)
				}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(test.code)
				object := map[string]any{"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": "worker-0"}}
				if test.code != http.StatusOK {
					object = map[string]any{"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": test.code}
				}
				if test.code == http.StatusNotFound {
					object["reason"] = metav1.StatusReasonNotFound
				}
				_ = json.NewEncoder(w).Encode(object)
			}))
			defer server.Close()
			ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
			kubeconfig := flowtest.WriteTempFile(t, fmt.Appendf(nil,
				`{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}],
				clusters: [{name: c, cluster: {server: "%s", certificate-authority-data: %s}}],
				users: [{name: u, user: {token: t}}]}`,
				server.URL, base64.StdEncoding.EncodeToString(ca)))
			state := joinstate.State{NodeName: "worker-0", Registered: test.registered}
			if got := nodeDeleted(t.Context(), state, kubeconfig); got != test.want {
				t.Errorf("deleted %t, want %t", got, test.want)
			}
		})
	}
}
