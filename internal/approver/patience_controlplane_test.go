//go:build controlplane

package approver

import (
	"testing"
	"time"
)

// A CSR whose claim has expired will never be approved: it is told once, and
// looked at less and less often.
func TestControlPlaneExpiredIsToldOnce(t *testing.T) {
	s := newScene(t)
	csr, _ := comeIn(t, s.ticket("patience", clusterCA(t), 2*time.Hour))
	a := s.approver(fleetKubeconfig)
	a.loadClaims()
	for range 2 {
		if _, err := a.sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		a.patience *= 2                     // as when it was time to look again
		time.Sleep(1100 * time.Millisecond) // times are told in whole seconds
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
