// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// NetworkCommand returns a command of this host in the network and with the name server of the machines. Its directory
// is dir, in which a file for the name server is written.
func (s *Environment) NetworkCommand(ctx context.Context, dir, program string, args ...string) (*exec.Cmd, error) {
	address, _, _ := strings.Cut(s.ControlPlane.HostAddress, "/")
	names := filepath.Join(dir, "resolv.conf")
	if err := os.WriteFile(names, []byte("nameserver "+address+"\n"), 0o600); err != nil {
		return nil, fmt.Errorf("setting the name server: %w", err)
	}
	program, err := filepath.Abs(program)
	if err != nil {
		return nil, fmt.Errorf("finding the program: %w", err)
	}
	command := exec.CommandContext(ctx, "nsenter", append([]string{
		"--net=" + s.ControlPlane.Netns, "unshare", "--mount", "sh", "-c",
		`mount --bind "$0" /etc/resolv.conf && exec "$@"`, names, program,
	}, args...)...)
	command.Dir = dir
	return command, nil
}
