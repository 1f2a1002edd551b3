package hostnet

import "time"

// SinceLastReply returns the time since the last request that got a reply. It returns
// false for a target that has never replied: many gateways ignore echo
// requests.
func (p *Pinger) SinceLastReply() (time.Duration, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := len(p.requests) - 1; i >= 0; i-- {
		if p.requests[i].answered {
			return time.Since(p.requests[i].at), true
		}
	}
	return 0, false
}
