//go:build controlplane

package approver

import (
	"testing"
	"time"
)

// A CSR with an expired enrollment is never approved. It is reported once, and the interval
// between resyncs grows.
func TestControlPlaneExpiredIsToldOnce(t *testing.T) {
	s := newScene(t)
	csr, _ := comeIn(t, s.ticket("patience", clusterCA(t), 2*time.Hour))
	a := s.approver(fleetKubeconfig)
	a.loadClaims()
	for range 2 {
		if _, err := a.sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		a.patience *= 2                     // as after a resync
		time.Sleep(1100 * time.Millisecond) // times in messages have a resolution of one second
	}
	times := 0
	for _, told := range s.told() {
		if told.CSR == csr {
			times++
		}
	}
	if times != 1 || a.patience != 4*a.soon {
		t.Errorf("told %d times; the next look is after %s", times, a.patience)
	}
}
