// SPDX-License-Identifier: Apache-2.0

package bed

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// Kubectl runs kubectl with a kubeconfig and a standard input, and returns its standard output.
//
// An API server closes a new connection whose first frame is more than 2 seconds late, as on a busy machine
// (firstSettingsTimeout of Go's HTTP/2 server). It has not processed a request then. kubectl does not repeat requests,
// so Kubectl runs it again, some times.
func Kubectl(ctx context.Context, kubeconfig, input string, args ...string) (string, error) {
	bin, err := Build(ctx)
	if err != nil {
		return "", err
	}
	args = append([]string{waittest.KubectlTimeout, "--kubeconfig", kubeconfig}, args...)
	for attempt := 1; ; attempt++ {
		var output, complaints strings.Builder
		command := exec.CommandContext(ctx, filepath.Join(bin, "kubectl"), args...)
		command.Stdin, command.Stdout, command.Stderr = strings.NewReader(input), &output, &complaints
		err := command.Run()
		if err == nil {
			return output.String(), nil
		}
		if attempt == 5 || !strings.Contains(complaints.String(), "connection reset by peer") {
			return "", fmt.Errorf("kubectl %q: %w: %s", args, err, &complaints)
		}
	}
}
