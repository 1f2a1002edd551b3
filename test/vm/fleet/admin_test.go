// SPDX-License-Identifier: Apache-2.0

//go:build vm

package fleet

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/test/bed"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// adminCommand returns a command of hcp-node-admin in the network and with the name server of the machines. Its working
// directory contains the kubeconfigs of the administrator.
func adminCommand(ctx context.Context, t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	command, err := environment.NetworkCommand(ctx, directory, "../../../bin/hcp-node-admin", args...)
	must(t, err)
	command.Env = append(os.Environ(), "KUBECONFIG=hosted.kubeconfig")
	return command
}

// admin runs a command of hcp-node-admin.
func admin(ctx context.Context, t *testing.T, args ...string) {
	t.Helper()
	out, err := adminCommand(ctx, t, args...).CombinedOutput()
	logCommand(t, args, out)
	must(t, err)
}

// kubectl runs kubectl as the administrator of the hosted cluster.
func kubectl(ctx context.Context, t *testing.T, args ...string) {
	t.Helper()
	out, err := bed.Kubectl(ctx, environment.ControlPlane.Kubeconfig, "", args...)
	t.Logf("\n$ kubectl %s\n%s", strings.Join(args, " "), out)
	must(t, err)
}

// logCommand logs a command and its output, as a shell shows them.
func logCommand(t *testing.T, args []string, out []byte) {
	t.Helper()
	t.Logf("\n$ hcp-node-admin %s\n%s", strings.Join(args, " "), out)
}

// awaitOutput runs a command of hcp-node-admin until its output contains all texts.
func awaitOutput(ctx context.Context, t *testing.T, timeout time.Duration, args []string, texts ...string) {
	t.Helper()
	what := fmt.Sprintf("waiting until hcp-node-admin %s prints %q", strings.Join(args, " "), texts)
	waittest.UntilWithin(t, timeout, what, func() (any, bool) {
		out, err := adminCommand(ctx, t, args...).CombinedOutput()
		must(t, err)
		for _, text := range texts {
			if !strings.Contains(string(out), text) {
				return string(out), false
			}
		}
		logCommand(t, args, out)
		return "", true
	})
}
