// SPDX-License-Identifier: Apache-2.0

//go:build vm

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
	"github.com/hcp-node-agent/hcp-node-agent/test/vm"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// newContext returns a context after it has prepared a machine that has never joined, a cluster
// without nodes, and new user data in the machine. The context ends after 2 hours, or 5 with
// THOROUGH=1.
func newContext(t *testing.T) context.Context {
	t.Helper()
	if os.Getenv("THOROUGH") != "" {
		return newContextFor(t, 5*time.Hour)
	}
	return newContextFor(t, 2*time.Hour)
}

// newContextFor is newContext with another timeout.
func newContextFor(t *testing.T, timeout time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	t.Cleanup(cancel)
	restart(ctx, t)
	must(t, environment.CopyInputs(ctx))
	t.Cleanup(func() { saveJournalOnFailure(t) })
	return ctx
}

// restart resets the control plane, and restores the machine as it was before all tests.
func restart(ctx context.Context, t *testing.T) {
	t.Helper()
	must(t, environment.Reset(ctx))
	must(t, environment.Machine.Restore(ctx, installedSnapshot))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// saveJournalOnFailure saves the machine's journal if the test failed.
func saveJournalOnFailure(t *testing.T) {
	if !t.Failed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), waittest.Timeout)
	defer cancel()
	journal, err := environment.Machine.Output(ctx, "journalctl -b --no-pager -o short-monotonic")
	if err != nil {
		t.Logf("the journal of the machine cannot be read: %v; its console is %s", err, environment.Machine.Console())
		return
	}
	name := filepath.Join(filepath.Dir(filepath.Dir(environment.Machine.Console())),
		strings.ReplaceAll(t.Name(), "/", "_")+".journal")
	if err := os.WriteFile(name, []byte(journal), 0o600); err != nil {
		t.Log(err)
	}
	t.Logf("journal of the machine: %s", name)
}

// runAgent runs the agent in the machine, logs its output and checks the exit code.
func runAgent(ctx context.Context, t *testing.T, want report.Code, args string) vm.Result {
	t.Helper()
	result, err := environment.Machine.Run(ctx, "hcp-node-agent "+args)
	must(t, err)
	t.Logf("hcp-node-agent %s\n%s%s", args, result.Stdout, result.Stderr)
	if result.ExitCode != int(want) {
		t.Fatalf("exit code %d, want %d", result.ExitCode, want)
	}
	return result
}

// joinByUserData is a join by user data.
const joinByUserData = "join --network-timeout " + testenv.NetworkTimeout + " --user-data " + testenv.UserDataPath

// joinCommand is the command of an administrator with a kubeconfig that can approve CSRs.
const joinCommand = joinByUserData + " --approve-with " + testenv.ApproverKubeconfigPath

// runUntilOutput runs a command in the machine and calls then as soon as its output matches pattern,
// a regular expression. It returns the output when the command has ended.
func runUntilOutput(ctx context.Context, t *testing.T, command, pattern string, then func()) string {
	t.Helper()
	out, err := environment.RunUntilOutput(ctx, command, pattern, then)
	must(t, err)
	return out
}

// checkContains fails the test for each text that where does not contain.
func checkContains(t *testing.T, where string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(where, text) {
			t.Errorf("the output does not contain %q", text)
		}
	}
}
