// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// probe returns the body of the response to a probe.
func probe(a *Approver, path string) string {
	recorder := httptest.NewRecorder()
	a.HealthHandler().ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, path, http.NoBody))
	return recorder.Body.String()
}

func TestProbes(t *testing.T) {
	a := &Approver{health: newHealth()}
	expect := func(when, readyz, livez string) {
		t.Helper()
		if got := [2]string{probe(a, "/readyz"), probe(a, "/livez")}; got != [2]string{readyz, livez} {
			t.Errorf("%s: /readyz and /livez return %q", when, got)
		}
	}
	expect("before the first resync", "not ok\n", "ok\n")
	a.health.isSynced.Store(true)
	expect("after it", "ok\n", "ok\n")
	a.health.started = time.Now().Add(-stallTimeout)
	expect("without progress", "ok\n", "not ok\n")
	a.health.recordProgress()
	expect("with progress again", "ok\n", "ok\n")
	a.health.isSynced.Store(false)
	expect("after a failed resync", "not ok\n", "ok\n")
}
