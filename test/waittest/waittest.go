// SPDX-License-Identifier: Apache-2.0

// Package waittest contains the waits of tests. They have one timeout, which is long, so that no test depends on the
// speed of the machine. A wait ends as soon as its event occurs.
package waittest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// Timeout limits each wait for an event. Only a failed test waits so long.
const Timeout = 15 * time.Minute

// KubectlTimeout is the flag of kubectl for Timeout. The default of its requests for the schema is 32 seconds.
const KubectlTimeout = "--request-timeout=15m"

// remaining returns Timeout, or less if go test would end the tests of the package earlier. Its message does not state
// what was awaited.
func remaining(t *testing.T) time.Duration {
	if end, isLimited := t.Deadline(); isLimited {
		return min(Timeout, time.Until(end)*9/10)
	}
	return Timeout
}

// Context returns a context for work that must complete. It ends with the test, or after Timeout.
func Context(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), remaining(t))
	t.Cleanup(cancel)
	return ctx
}

// Until blocks until observe reports that it has seen what is awaited. After Timeout, it fails the test with the last
// observation.
func Until(t *testing.T, what string, observe func() (seen any, done bool)) {
	t.Helper()
	UntilWithin(t, remaining(t), what, observe)
}

// UntilWithin is Until with another timeout, for the event at the end of long work.
func UntilWithin(t *testing.T, timeout time.Duration, what string, observe func() (seen any, done bool)) {
	t.Helper()
	for begun := time.Now(); ; {
		seen, done := observe()
		if done {
			return
		}
		waited := time.Since(begun)
		if waited > timeout {
			t.Fatalf("%s: not within %s; last observation:\n%v", what, timeout.Round(time.Second), seen)
		}
		time.Sleep(min(max(waited/10, 10*time.Millisecond), time.Second))
	}
}

// UntilTrue is Until for a condition without a value to show.
func UntilTrue(t *testing.T, what string, condition func() bool) {
	t.Helper()
	Until(t, what, func() (any, bool) { return false, condition() })
}

// UntilText blocks until text returns a text that contains want. After Timeout, it fails the test with the last text.
func UntilText(t *testing.T, want string, text func() string) {
	t.Helper()
	Until(t, fmt.Sprintf("waiting for %q", want), func() (any, bool) {
		seen := text()
		return seen, strings.Contains(seen, want)
	})
}

// UntilNextSecond blocks until the clock shows another second. Times in the API have a resolution of one second.
func UntilNextSecond(t *testing.T) {
	t.Helper()
	begun := time.Now().Truncate(time.Second)
	Until(t, "waiting for the next second", func() (any, bool) { return time.Now(), time.Since(begun) >= time.Second })
}

// Receive returns the next value from a channel. After Timeout, it fails the test.
func Receive[T any](t *testing.T, what string, from <-chan T) T {
	t.Helper()
	limit := remaining(t)
	var value T
	select {
	case value = <-from:
	case <-time.After(limit):
		t.Fatalf("%s: not within %s", what, limit.Round(time.Second))
	}
	return value
}

// GrowTimeout calls run with a timeout for the tested code until run reports that it has seen what is expected. Each
// timeout is twice as long as the one before, because a slower machine needs more time for the same work.
func GrowTimeout(t *testing.T, what string, run func(timeout time.Duration) (seen any, done bool)) {
	t.Helper()
	timeout := time.Second
	Until(t, what, func() (any, bool) {
		seen, done := run(timeout)
		timeout *= 2
		return seen, done
	})
}
