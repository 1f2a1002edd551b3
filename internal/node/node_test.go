// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
)

// An API server that does not respond is a finding like the others.
func TestFindingsWithoutAPIServer(t *testing.T) {
	connection, err := kube.Connect(&rest.Config{Host: "https://127.0.0.1:1"},
		func(*http.Request) (*url.URL, error) { return nil, nil }) //nolint:nilnil // no proxy
	if err != nil {
		t.Fatal(err)
	}
	node := &Node{Name: "worker-1", Conn: connection}
	got, err := node.Findings(t.Context())
	const want = "getting Node worker-1: 127.0.0.1:1 refused the connection: no service listens on the port, or a " +
		"firewall rejects it"
	const remedy = "curl -kvm 20 https://127.0.0.1:1/version"
	if err != nil || len(got) != 1 || got[0].Message != want || got[0].Remedy != remedy {
		t.Errorf("Findings() = %+v, %v", got, err)
	}
	if !got[0].Incomplete {
		t.Error("what was found before is taken for gone")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := node.Findings(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("Findings() = %v after the end", err)
	}
}
