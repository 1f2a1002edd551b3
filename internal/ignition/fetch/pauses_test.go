// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/transport"
	"github.com/hcp-node-agent/hcp-node-agent/internal/wait"
)

// The pauses of many hosts whose transfers were aborted together are distributed over several lengths of the transfer.
func TestPausesAfterAbortedTransfers(t *testing.T) {
	const hosts, took = 1000, 10 * time.Second
	for n, longest := range []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute} {
		inHalf, most := 0, time.Duration(0)
		for range hosts {
			p := pauses{regular: wait.NewBackoff(), aborted: n}
			pause := p.after(&transport.Error{Kind: Truncated}, took)
			if pause < time.Second || p.aborted != n+1 {
				t.Fatalf("pause %s, %d aborted", pause, p.aborted)
			}
			if pause < longest/2 {
				inHalf++
			}
			most = max(most, pause)
		}
		if most > longest || inHalf < hosts*4/10 || inHalf > hosts*6/10 {
			t.Errorf("after %d aborts: %d of %d pauses in the first half, the longest %s", n+1, inHalf, hosts, most)
		}
	}
}

func TestPausesAfterOtherFailures(t *testing.T) {
	p := pauses{regular: wait.NewBackoff(), aborted: 3}
	if pause := p.after(&transport.Error{Kind: transport.Unreachable}, time.Minute); pause > 2*time.Second {
		t.Errorf("pause %s after the first failure", pause)
	}
	if p.aborted != 0 {
		t.Error("the aborts before another failure count")
	}
	long := pauses{regular: wait.NewBackoff(), aborted: 1000}
	if pause := long.after(&transport.Error{Kind: Truncated}, time.Second); pause > 48*time.Second {
		t.Errorf("pause %s", pause)
	}
}
