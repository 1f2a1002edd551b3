// SPDX-License-Identifier: Apache-2.0

package ostree

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Files of the machine-config-daemon (openshift/machine-config-operator, pkg/daemon/constants/constants.go and
// pkg/daemon/image_manager_helper.go).
const (
	encapsulatedConfig = "/etc/ignition-machine-config-encapsulated.json"
	ostreeAuthFile     = "/run/ostree/auth.json"
	kubeletAuthFile    = "/var/lib/kubelet/config.json"
)

// firstbootRetryDelay is the delay after a failure (cmd/machine-config-daemon/firstboot_complete_machineconfig.go).
const firstbootRetryDelay = time.Minute

// firstbootCommand imitates cmd/machine-config-daemon/firstboot_complete_machineconfig.go: it fails only for unknown
// arguments, and tries again after all other errors, so that kubelet does not start. The names of network cards that
// --persist-nics makes permanent do not change in a test machine.
func firstbootCommand(ctx context.Context, args []string) error {
	flags := newFlags()
	persistNICs := flags.Bool("persist-nics", false, "")
	rest, err := parse(flags, args)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return fmt.Errorf("%w: unknown argument %q", errUsage, rest[0])
	}
	if *persistNICs {
		return nil
	}
	for {
		err := completeFirstboot(ctx)
		if err == nil {
			return nil
		}
		fmt.Fprintln(os.Stderr, "error:", err)
		time.Sleep(firstbootRetryDelay)
	}
}

// machineConfig has the fields of a MachineConfig that a first boot applies to the operating system.
type machineConfig struct {
	Spec struct {
		OSImageURL      string   `json:"osImageURL"`
		KernelArguments []string `json:"kernelArguments"`
		Extensions      []string `json:"extensions"`
		FIPS            bool     `json:"fips"`
		KernelType      string   `json:"kernelType"`
	} `json:"spec"`
}

// completeFirstboot imitates pkg/daemon/daemon.go, RunFirstbootCompleteMachineconfig: it compares the booted image and
// kernel arguments with the MachineConfig, and stages a deployment and reboots if they differ. The file exists until
// the host has both.
func completeFirstboot(ctx context.Context) error {
	content, err := os.ReadFile(encapsulatedConfig)
	if err != nil {
		return err
	}
	var config machineConfig
	if err := json.Unmarshal(content, &config); err != nil {
		return fmt.Errorf("failed to parse MachineConfig: %w", err)
	}
	spec := config.Spec
	if len(spec.Extensions) > 0 || spec.FIPS || (spec.KernelType != "" && spec.KernelType != "default") {
		return errors.New("extensions, FIPS and kernel types are not supported by this stand-in")
	}
	r, err := gatherRoles()
	if err != nil {
		return err
	}
	kargs, err := r.merge().kargs() // as "rpm-ostree kargs" prints them
	if err != nil {
		return err
	}
	image := strings.TrimPrefix(r.booted.reference(), originPrefix)
	running := runningKargs(kargs, spec.KernelArguments)
	if image == spec.OSImageURL && slices.Equal(running, spec.KernelArguments) {
		fmt.Println("skipping reboot since no changes were detected")
		return os.Remove(encapsulatedConfig)
	}
	if err := updateOS(ctx, image, config, running); err != nil {
		return errors.Join(err, runRPMOSTree(ctx, "cleanup", []string{"-p"}))
	}
	if err := os.Rename(encapsulatedConfig, encapsulatedConfig+".bak"); err != nil {
		return err
	}
	// pkg/daemon/daemon.go, rebootCommand: without the dependency, a fast reboot loses the staged deployment
	// (OCPBUGS-51150).
	_, err = command("systemd-run", "--unit", "machine-config-daemon-reboot",
		"-p", "Requires=ostree-finalize-staged.service", "-p", "After=ostree-finalize-staged.service",
		"/bin/sh", "-c", "systemctl reboot")
	return err
}

// runningKargs returns those of the arguments that are requested, in their own order (pkg/daemon/update.go,
// setRunningKargsWithCmdline).
func runningKargs(args, requested []string) []string {
	return slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return !slices.Contains(requested, arg) })
}

// updateOS imitates pkg/daemon/update.go, applyLayeredOSChanges: it stages one deployment of the image with the kernel
// arguments, which are removed and appended in the order of the MachineConfig (generateKargs).
func updateOS(ctx context.Context, image string, config machineConfig, running []string) error {
	if err := runRPMOSTree(ctx, "cleanup", []string{"-p"}); err != nil {
		return fmt.Errorf("failed to remove pending deployment: %w", err)
	}
	if image != config.Spec.OSImageURL {
		if err := linkAuthFile(); err != nil {
			return fmt.Errorf("error while ensuring access to pull secrets: %w", err)
		}
		err := runRPMOSTree(ctx, "rebase", []string{"--experimental", originPrefix + config.Spec.OSImageURL})
		if err != nil {
			return err
		}
	}
	if slices.Equal(running, config.Spec.KernelArguments) {
		return nil
	}
	var changes []string
	for _, arg := range running {
		changes = append(changes, "--delete-if-present="+arg)
	}
	for _, arg := range config.Spec.KernelArguments {
		changes = append(changes, "--append="+arg)
	}
	return runRPMOSTree(ctx, "kargs", changes)
}

// linkAuthFile makes rpm-ostree read the pull secret of the host (pkg/daemon/image_manager_helper.go, linkAuthFile).
func linkAuthFile() error {
	if err := os.MkdirAll(filepath.Dir(ostreeAuthFile), 0o755); err != nil { //nolint:gosec // readable, as ostree's
		return err
	}
	if err := os.Remove(ostreeAuthFile); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.Symlink(kubeletAuthFile, ostreeAuthFile)
}
