// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"fmt"
	"time"
)

// ClockRemedy is the command that prints and sets the clock.
const ClockRemedy = "timedatectl; chronyc makestep"

// minReportedSkew is the smallest clock difference that is reported. The Date header of a server
// has whole seconds, and the response takes some time.
const minReportedSkew = time.Minute

// SkewNote returns a clause about the clock difference, or "" for a small one. skew is the server's
// clock minus this host's.
func SkewNote(skew time.Duration) string {
	direction := "behind"
	if skew < 0 {
		direction = "ahead of"
	}
	if skew.Abs() < minReportedSkew {
		return ""
	}
	return fmt.Sprintf("; this host's clock is %s %s the server's", skew.Abs().Round(time.Second), direction)
}
