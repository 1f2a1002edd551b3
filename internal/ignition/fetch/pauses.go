// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"math/rand/v2"
	"time"

	k8swait "k8s.io/apimachinery/pkg/util/wait"

	"github.com/hcp-node-agent/hcp-node-agent/internal/transport"
)

// pauses are the pauses between the attempts of a request.
type pauses struct {
	regular *k8swait.Backoff
	aborted int // consecutive transfers
}

// Longest random pauses after an aborted transfer.
const (
	abortSpread       = 3 // in lengths of the transfer
	maxAbortDoublings = 4
)

// after returns the pause after an attempt that took some time and failed.
//
// A transfer usually is aborted by an overloaded server: hosts that have started together share its bandwidth, so that
// its write timeout (10 s in HyperShift, ignition-server/cmd/start.go) aborts all of them at the same time. A random
// pause, which doubles with each consecutive abort, makes the next attempts few at a time.
func (p *pauses) after(failed *transport.Error, took time.Duration) time.Duration {
	pause := p.regular.Step()
	if failed.Kind != Truncated {
		p.aborted = 0
		return pause
	}
	longest := took * abortSpread << min(p.aborted, maxAbortDoublings)
	p.aborted++
	return max(pause, rand.N(longest+1)) //nolint:gosec // no secret
}
