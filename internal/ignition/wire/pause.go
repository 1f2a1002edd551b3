package wire

import (
	"math/rand/v2"
	"time"
)

// Pause is how long to wait after a number of tries, one or more. It doubles
// from first up to longest, and half of it is random, so that a rack of hosts
// that came up together does not ask together.
func Pause(tries int, first, longest time.Duration) time.Duration {
	pause := first
	for range tries - 1 {
		if pause = min(2*pause, longest); pause == longest {
			break
		}
	}
	return pause/2 + rand.N(pause/2+1) //nolint:gosec // jitter needs no secrecy
}
