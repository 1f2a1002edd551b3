// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"testing"
	"time"
)

// waitTimeout is that of test/waittest, which is in another module.
const waitTimeout = 15 * time.Minute

// until blocks until observe reports that it has seen what is awaited.
func until(t *testing.T, what string, observe func() (seen any, done bool)) {
	t.Helper()
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		seen, done := observe()
		if done {
			return
		}
		if time.Since(begun) > waitTimeout {
			t.Fatalf("%s: not within %s; last observation:\n%v", what, waitTimeout, seen)
		}
	}
}
