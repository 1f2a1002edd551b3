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

const (
	// usualSize is the size of a payload in bytes. That of the failed transfer is unknown: the server does not send it.
	usualSize = 450_000
	// maxAbortFactor and maxAbortDoublings limit the pause of one that received little, or was aborted often.
	maxAbortFactor    = 16
	maxAbortDoublings = 4
)

// after returns the pause after an attempt that took some time and failed.
//
// A transfer usually is aborted by an overloaded server: hosts that have started together share its bandwidth, so that
// its write timeout (10 s in HyperShift, ignition-server/cmd/start.go) aborts all of them at the same time. If each of
// them received a quarter of the payload in this time, the server needs four times as long for all of them. A random
// pause of up to this time lets the next attempts succeed. It doubles with each consecutive abort.
func (p *pauses) after(failed *transport.Error, took time.Duration) time.Duration {
	pause := p.regular.Step()
	if failed.Kind != Truncated {
		p.aborted = 0
		return pause
	}
	factor := min(max(float64(usualSize)/float64(max(failed.Received, 1)), 1), maxAbortFactor)
	longest := time.Duration(float64(took)*factor) << min(p.aborted, maxAbortDoublings)
	p.aborted++
	return max(pause, rand.N(longest+1)) //nolint:gosec // no secret
}
