// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package approver

import (
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/test/csrtest"
)

// A CSR with an expired enrollment is never approved. It is reported once, and the interval
// between resyncs grows.
func TestControlPlaneExpiredIsReportedOnce(t *testing.T) {
	s := newTestCluster(t)
	csr, _ := csrtest.SubmitWithToken(t, s.newToken("patience", csrtest.ClusterCA(t), 2*time.Hour))
	a := s.newApprover(fleetKubeconfig)
	a.loadEnrollments()
	for range 2 {
		if _, err := a.resync(t.Context()); err != nil {
			t.Fatal(err)
		}
		a.resyncDelay *= 2                  // as after a resync
		time.Sleep(1100 * time.Millisecond) // times in messages have a resolution of one second
	}
	times := 0
	for _, recorded := range s.allEvents() {
		if recorded.CSR == csr {
			times++
		}
	}
	if times != 1 || a.resyncDelay != 4*a.initialResyncDelay {
		t.Errorf("reported %d times; the next resync is after %s", times, a.resyncDelay)
	}
}
