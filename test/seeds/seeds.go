// SPDX-License-Identifier: Apache-2.0

// Package seeds makes tests with random numbers repeatable, and lets the environment choose how often they run.
package seeds

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

// Run runs a test RUNS times (default: runs), with [First] and the following numbers as seeds. The name of each run
// contains its seed.
func Run(t *testing.T, runs uint64, one func(t *testing.T, random *rand.Rand)) {
	t.Helper()
	first := First(t)
	for i := range Number(t, "RUNS", runs) {
		t.Run(fmt.Sprintf("SEED=%d", first+i), func(t *testing.T) {
			one(t, rand.New(rand.NewPCG(first+i, 0))) //nolint:gosec // must be repeatable
		})
	}
}

// First returns SEED, by default a number that differs in each run.
func First(t *testing.T) uint64 {
	t.Helper()
	return Number(t, "SEED", uint64(time.Now().UnixNano())) //nolint:gosec // any number will do
}

// Number returns the number in an environment variable, or fallback if it is not set. Any other text fails the test.
func Number(t *testing.T, name string, fallback uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return fallback
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("environment variable %s: %v", name, err)
	}
	return n
}
