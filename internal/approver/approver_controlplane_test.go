// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package approver

import (
	"slices"
	"sync"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/test/csrtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
)

// testCluster collects the events of approvers with the credential of an administrator.
type testCluster struct {
	t      *testing.T
	mu     sync.Mutex
	events []Event
}

func newTestCluster(t *testing.T) *testCluster { return &testCluster{t: t} }

// lastEvent returns the last event about a CSR.
func (s *testCluster) lastEvent(csr string) Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, recorded := range slices.Backward(s.events) {
		if recorded.CSR == csr {
			return recorded
		}
	}
	return Event{}
}

func (s *testCluster) newApprover() *Approver {
	s.t.Helper()
	a, err := Open(Options{
		Kubeconfig: csrtest.Kubeconfig(s.t, kubetest.Plane.Kubeconfig),
		OnEvent: func(recorded Event) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.events = append(s.events, recorded)
		},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}
