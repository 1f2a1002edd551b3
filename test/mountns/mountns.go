// SPDX-License-Identifier: Apache-2.0

// Package mountns runs a test in a mount namespace of its own, so that its mounts end with it.
package mountns

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

const variable = "HCP_TEST_IN_MOUNT_NAMESPACE"

// Isolate returns true in the new mount namespace. In the process that calls it first, it runs
// the calling test again in a new namespace, reports its failure, and returns false: the caller
// must return. The test is skipped without the right to mount.
func Isolate(t *testing.T) bool {
	t.Helper()
	if os.Getenv(variable) != "" {
		return true
	}
	command := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	command.Env = append(os.Environ(), variable+"=1")
	command.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	out, err := command.CombinedOutput()
	if errors.Is(err, syscall.EPERM) {
		t.Skip("mounting needs root")
	}
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}
