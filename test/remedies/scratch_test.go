// SPDX-License-Identifier: Apache-2.0

package remedies_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/test/remedies"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// Each remedy that needs neither a node nor a cluster works in a temporary directory with the built programs.
func TestRemediesInScratchDirectory(t *testing.T) {
	dir := scratchDir(t)
	remedies.Run(t, remedies.Scratch, localShell(t, dir, "PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH")))
}

// scratchDir returns a directory with the built programs in its subdirectory bin.
func scratchDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, source := range map[string]string{"hcp-node-agent": "node-agent", "hcp-node-admin": "node-admin"} {
		build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, "bin", name), "../../cmd/"+source)
		build.Env = append(os.Environ(), "CGO_ENABLED=0") // as released, also from a test that needs cgo
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("building %s: %v:\n%s", name, err, out)
		}
	}
	return dir
}

// localShell returns a shell of this machine.
func localShell(t *testing.T, dir string, environment ...string) remedies.Shell {
	t.Helper()
	return func(script string) (remedies.Result, error) {
		command := exec.CommandContext(waittest.Context(t), "bash", "-c", script)
		command.Dir = dir
		command.Env = append(os.Environ(), environment...)
		var stdout, stderr bytes.Buffer
		command.Stdout, command.Stderr = &stdout, &stderr
		err := command.Run()
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			err = nil
		}
		return remedies.Result{
			Stdout: stdout.String(), Stderr: stderr.String(), ExitCode: command.ProcessState.ExitCode(),
		}, err
	}
}
