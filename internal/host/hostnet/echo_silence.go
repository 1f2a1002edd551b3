package hostnet

import "time"

// SinceLastReply returns the time since the last request that got a reply. It returns
// false for a target that has never replied: many gateways ignore echo
// requests.
func (e *Pinger) SinceLastReply() (time.Duration, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := len(e.requests) - 1; i >= 0; i-- {
		if e.requests[i].answered {
			return time.Since(e.requests[i].at), true
		}
	}
	return 0, false
}
