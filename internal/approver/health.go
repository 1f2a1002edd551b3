// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"net/http"
	"sync/atomic"
	"time"
)

// stallTimeout is the time without progress after which a watching approver is not live. Each request takes
// kube.RequestTimeout at most, and the pause between retries 15 s.
const stallTimeout = 5 * time.Minute

// health is the state that the probes of a watching approver report.
type health struct {
	isSynced     atomic.Bool  // the last resync was successful
	lastProgress atomic.Int64 // since started
	started      time.Time    // its monotonic clock does not jump
}

func newHealth() *health { return &health{started: time.Now()} }

// recordProgress is called for every request to the API server, and at intervals during a watch.
func (h *health) recordProgress() { h.lastProgress.Store(int64(time.Since(h.started))) }

func (h *health) isLive() bool {
	return time.Since(h.started)-time.Duration(h.lastProgress.Load()) < stallTimeout
}

// HealthHandler returns the handler for the probes of Watch. /readyz succeeds if the last resync was
// successful. /livez fails if Watch has made no progress for five minutes; an unreachable API server does not
// make it fail.
func (a *Approver) HealthHandler() http.Handler {
	probe := func(isHealthy func() bool) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if !isHealthy() {
				http.Error(w, "not ok", http.StatusServiceUnavailable)
				return
			}
			_, _ = w.Write([]byte("ok\n")) // the prober has disconnected
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", probe(a.health.isLive))
	mux.HandleFunc("GET /readyz", probe(a.health.isSynced.Load))
	return mux
}
