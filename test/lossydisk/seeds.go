// SPDX-License-Identifier: Apache-2.0

package lossydisk

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/test/mountns"
)

// Run runs a test RUNS times (default: runs), in a mount namespace of its own, with SEED and the following numbers
// as seeds (default: the time). The name of each run contains its seed.
func Run(t *testing.T, runs uint64, one func(t *testing.T, random *rand.Rand)) {
	t.Helper()
	for _, program := range []string{"mkfs.ext4", "mkfs.xfs", "qemu-storage-daemon"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(program + " is not installed (make deps)")
		}
	}
	for _, device := range []string{"/dev/fuse", "/dev/loop-control"} {
		if _, err := os.Stat(device); err != nil {
			t.Skipf("this machine cannot mount a logged disk: %v", err)
		}
	}
	if !mountns.Isolate(t) {
		return
	}
	seed := Number(t, "SEED", uint64(time.Now().UnixNano())) //nolint:gosec // any number will do
	for i := range Number(t, "RUNS", runs) {
		t.Run(fmt.Sprintf("SEED=%d", seed+i), func(t *testing.T) {
			one(t, rand.New(rand.NewPCG(seed+i, 0))) //nolint:gosec // must be repeatable
		})
	}
}

// Number returns the number in an environment variable.
func Number(t *testing.T, name string, fallback uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return fallback
	}
	n, err := strconv.ParseUint(text, 10, 64)
	must(t, err)
	return n
}
