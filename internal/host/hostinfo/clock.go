// SPDX-License-Identifier: Apache-2.0

package hostinfo

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// IsClockSynchronized reports whether a time service such as chronyd synchronizes the clock.
// Like timedatectl(1), it compares the kernel's estimate of the error with the maximum, which
// an unsynchronized clock has. It fails in a sandbox that forbids adjtimex(2).
func IsClockSynchronized() (bool, error) {
	const maxError = 16_000_000 // µs: NTP_PHASE_LIMIT of the kernel
	var clock unix.Timex        // with Modes 0, the call changes nothing
	if _, err := unix.Adjtimex(&clock); err != nil {
		return false, fmt.Errorf("reading the state of the clock: %w", err)
	}
	return clock.Maxerror < maxError, nil
}
