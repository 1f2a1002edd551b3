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

// BuildAcceptance builds the command that tests a real host in dir, and returns its path.
func BuildAcceptance(ctx context.Context, repository, dir string) (string, error) {
	program := filepath.Join(dir, "acceptance")
	command := exec.CommandContext(ctx, "go", "build", "-o", program, "./test/acceptance")
	command.Dir = repository
	if out, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the acceptance test: %w: %s", err, out)
	}
	return program, nil
}

// Acceptance returns a command that runs the program of BuildAcceptance against the machine, over ssh and the uplink,
// as its user does. arguments are added to those of the program. Its inputs and its report are in dir.
func (s *Environment) Acceptance(ctx context.Context, program, dir string, arguments ...string) (*exec.Cmd, error) {
	uplink, err := s.Machine.Uplink(ctx)
	if err != nil {
		return nil, err
	}
	userData, err := s.ControlPlane.CurrentUserData(ctx)
	if err != nil {
		return nil, fmt.Errorf("getting user data: %w", err)
	}
	kubeconfig, err := s.NodeSideKubeconfig(s.ControlPlane.Kubeconfig)
	if err != nil {
		return nil, err
	}
	gateway, _, _ := strings.Cut(s.ControlPlane.HostAddress, "/")
	resolver := filepath.Join(dir, "resolv.conf")
	userDataFile, kubeconfigFile := filepath.Join(dir, "user-data.ign"), filepath.Join(dir, "kubeconfig")
	for path, content := range map[string][]byte{
		resolver:       []byte("nameserver " + gateway + "\n"),
		userDataFile:   userData,
		kubeconfigFile: kubeconfig,
	} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return nil, fmt.Errorf("writing an input of the acceptance test: %w", err)
		}
	}
	ssh := strings.Fields(uplink.Command())
	host := len(ssh) - 1
	return exec.CommandContext(ctx, "nsenter", append([]string{
		"--net=" + s.ControlPlane.Netns, "unshare", "--mount",
		"sh", "-c", `mount --bind "$0" /etc/resolv.conf && exec "$@"`, resolver, program,
		"-host", ssh[host], "-ssh", strings.Join(ssh[:host], " "), "-user-data", userDataFile,
		"-kubeconfig", kubeconfigFile, "-output", dir,
	}, arguments...)...), nil
}
