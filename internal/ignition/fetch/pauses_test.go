// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/transport"
	"github.com/hcp-node-agent/hcp-node-agent/internal/wait"
)

// The pauses of many hosts whose transfers were aborted together are distributed over the time that the server needs
// for all of them.
func TestPausesAfterAbortedTransfers(t *testing.T) {
	const hosts, took = 1000, 10 * time.Second
	for _, test := range []struct {
		received, aborted int
		longest           time.Duration
	}{
		{usualSize / 2, 0, 20 * time.Second},
		{usualSize / 2, 1, 40 * time.Second},
		{usualSize / 2, 2, 80 * time.Second},
		{usualSize / 5, 0, 50 * time.Second},
		{2 * usualSize, 0, took},
		{0, 0, 160 * time.Second},
	} {
		inHalf, most := 0, time.Duration(0)
		for range hosts {
			p := pauses{regular: wait.NewBackoff(), aborted: test.aborted}
			pause := p.after(&transport.Error{Kind: Truncated, Received: test.received}, took)
			if pause < time.Second || p.aborted != test.aborted+1 {
				t.Fatalf("pause %s, %d aborted", pause, p.aborted)
			}
			if pause < test.longest/2 {
				inHalf++
			}
			most = max(most, pause)
		}
		if most > test.longest || inHalf < hosts*4/10 || inHalf > hosts*6/10 {
			t.Errorf("%+v: %d of %d pauses in the first half, the longest %s", test, inHalf, hosts, most)
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
	if pause := long.after(&transport.Error{Kind: Truncated, Received: 1}, time.Second); pause > 256*time.Second {
		t.Errorf("pause %s", pause)
	}
}
