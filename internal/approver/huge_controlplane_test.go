// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package approver

import (
	"context"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/test/csrtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
)

// Many CSRs of the maximum size must not exceed the memory limit of the unit, 256 MiB, neither in
// a list nor in a watch.
func TestControlPlaneHugeRequestsStayWithinMemoryLimit(t *testing.T) {
	const count = 80
	s := newTestCluster(t)
	var last string
	for range count {
		last = csrtest.SubmitHuge(t, "huge", nil)
	}
	s.newToken("huge", csrtest.ClusterCA(t), 0)
	a := s.newApprover(fleetKubeconfig)
	a.loadEnrollments()
	version := ""
	listing := csrtest.PeakMemory(func() {
		var err error
		if version, err = a.resync(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if recorded := s.lastEvent(last); recorded.Outcome != Ignored || recorded.Node != "" ||
		len(recorded.Reason) > maxReasonLength {
		t.Errorf("the event is %+v", recorded)
	}
	for range count / 2 {
		last = csrtest.SubmitHuge(t, "huge", nil)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	coming := csrtest.PeakMemory(func() {
		go func() { a.watchChanges(ctx, version); close(done) }()
		kubetest.WaitUntil(t, "the event of the last CSR", func() bool { return s.lastEvent(last).CSR != "" })
	})
	stop()
	<-done
	t.Logf("%d MiB during the list, %d MiB during the watch", listing, coming)
	if max(listing, coming) > 180 {
		t.Errorf("memory use: %d MiB during the list, %d MiB during the watch", listing, coming)
	}
}
