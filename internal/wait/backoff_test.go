// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"testing"
	"time"
)

func TestBackoffGrowsToMaximum(t *testing.T) {
	for range 100 {
		pause, previous := NewBackoff(), time.Duration(0)
		for attempt := range 20 {
			base := pause.Duration
			step := pause.Step()
			if step < base || step > base*13/10 {
				t.Errorf("backoff %d is %s, want %s and up to 30%% more", attempt, step, base)
			}
			if base < min(previous*17/10, 15*time.Second) || base < time.Second || base > 15*time.Second {
				t.Errorf("backoff %d is based on %s after %s", attempt, base, previous)
			}
			previous = base
		}
		if previous != 15*time.Second {
			t.Errorf("backoff ends at %s", previous)
		}
	}
}
