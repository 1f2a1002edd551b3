package host

import "time"

// Silence is how long the target has not answered, counted from the last
// request that it did answer. It is false for one that has never answered:
// many a gateway ignores echo requests.
func (e *Echo) Silence() (time.Duration, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := len(e.requests) - 1; i >= 0; i-- {
		if e.requests[i].answered {
			return time.Since(e.requests[i].at), true
		}
	}
	return 0, false
}
