// SPDX-License-Identifier: Apache-2.0

package lossydisk

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/test/mountns"
	"github.com/hcp-node-agent/hcp-node-agent/test/seeds"
)

// Run is [seeds.Run] in a mount namespace of its own. The test is skipped on a machine that cannot mount a logged disk.
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
	seeds.Run(t, runs, one)
}
