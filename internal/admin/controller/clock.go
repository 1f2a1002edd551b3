// SPDX-License-Identifier: Apache-2.0

package controller

import "time"

// clock compares times with the time of an observation. It records when a comparison changes its result, because the
// objects must then be observed again although none of them has changed.
type clock struct {
	now  time.Time
	next time.Time // first time of a comparison that is in the future, zero for none
}

// hasReached reports whether a time is not in the future.
func (c *clock) hasReached(t time.Time) bool {
	if !t.After(c.now) {
		return true
	}
	if c.next.IsZero() || t.Before(c.next) {
		c.next = t
	}
	return false
}

// untilNext returns the duration after which the objects must be observed again, 0 for never.
func (c *clock) untilNext() time.Duration {
	if c.next.IsZero() {
		return 0
	}
	return c.next.Sub(c.now)
}
