// SPDX-License-Identifier: Apache-2.0

package differential

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Oracle is the Ignition binary that test/oracle/build.sh builds.
type Oracle struct {
	dir string
}

// BuildOracle builds Ignition unless it is cached. The working directory must be inside the
// repository.
func BuildOracle(ctx context.Context) (Oracle, error) {
	repository, err := Repository()
	if err != nil {
		return Oracle{}, err
	}
	var stdout, stderr bytes.Buffer
	command := exec.CommandContext(ctx, filepath.Join(repository, "test", "oracle", "build.sh"))
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		return Oracle{}, fmt.Errorf("building Ignition: %w:\n%s", err, stderr.String())
	}
	return Oracle{dir: strings.TrimSpace(stdout.String())}, nil
}

// Ignition returns the path of the binary.
func (o Oracle) Ignition() string { return filepath.Join(o.dir, "ignition") }

// Repository returns the root of the repository, searched from the working directory upwards.
func Repository() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the repository: %w", err)
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "test", "oracle", "build.sh")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("finding the repository: no parent of %s is it", start)
		}
	}
}

// ApplyCommand returns a command for Ignition's files stage alone, which applies storage entries
// and units. It ignores accounts, and the proxy, timeouts and CAs of the config.
func (o Oracle) ApplyCommand(ctx context.Context, config, root string) *exec.Cmd {
	command := exec.CommandContext(ctx, filepath.Join(o.dir, "ignition-apply"), "--root", root, config)
	// Ignition refuses the tree of a running host, which it detects by this variable.
	command.Env = append(os.Environ(), "container=podman")
	return command
}

// ignitionTimeout is the timeout of a run of Ignition. Some mistakes, such as a pipe as parent
// directory, block it forever.
const ignitionTimeout = time.Minute

// Apply runs ApplyCommand.
func (o Oracle) Apply(ctx context.Context, config, root string) error {
	ctx, cancel := context.WithTimeout(ctx, ignitionTimeout)
	defer cancel()
	return runIgnition(o.ApplyCommand(ctx, config, root))
}

// Boot runs the fetch and files stages as a first boot does. scratch is an empty directory for
// Ignition's state.
func (o Oracle) Boot(ctx context.Context, config, root, scratch string) error {
	ctx, cancel := context.WithTimeout(ctx, ignitionTimeout)
	defer cancel()
	none := filepath.Join(scratch, "none")
	if err := os.Mkdir(none, 0o700); err != nil {
		return err
	}
	cmdline := filepath.Join(scratch, "cmdline")
	if err := os.WriteFile(cmdline, nil, 0o600); err != nil {
		return err
	}
	for _, stage := range []string{"fetch", "files"} {
		command := exec.CommandContext(ctx, o.Ignition(),
			"-platform", "file", "-stage", stage, "-root", root, "-log-to-stdout", "-neednet", filepath.Join(scratch, "neednet"),
			"-config-cache", filepath.Join(scratch, "config"), "-state-file", filepath.Join(scratch, "state"))
		command.Env = append(os.Environ(), "IGNITION_CONFIG_FILE="+config, "IGNITION_KERNEL_CMDLINE_PATH="+cmdline,
			"IGNITION_SYSTEM_CONFIG_DIR="+none, "IGNITION_SYSTEM_LOCAL_CONFIG_DIR="+none,
			"IGNITION_SYSTEM_RUNTIME_CONFIG_DIR="+none,
			// sshd on RHEL does not read key fragments.
			"IGNITION_WRITE_AUTHORIZED_KEYS_FRAGMENT=false")
		if err := runIgnition(command); err != nil {
			return err
		}
	}
	return nil
}

// runIgnition runs Ignition. After all writes, an instantiated unit makes Ignition query the version of
// the running systemd, which may not exist here.
func runIgnition(command *exec.Cmd) error {
	output, err := command.CombinedOutput()
	if err == nil || bytes.Contains(output, []byte("unix /run/systemd/private")) {
		return nil
	}
	return fmt.Errorf("%w: %s", err, output)
}
