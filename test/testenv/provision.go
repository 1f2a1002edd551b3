// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/test/differential"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// provisionDir is the directory in the machine with Ignition, its config and its state. It is gone after a reboot.
const provisionDir = "/run/provision"

// presetFile is written by Ignition's files stage (coreos/ignition, internal/exec/util/path.go).
const presetFile = "/etc/systemd/system-preset/20-ignition.preset"

// Provision does what the first boot of RHCOS does with an Ignition config, such as the user data of a NodePool, and
// reboots the machine, whose class must be [vm.RHCOS]. It runs the real Ignition with the stages fetch, kargs and
// files on the running system. RHCOS runs them in the initramfs, before it starts the system. The stages for disks do
// not run. Then it applies the presets that Ignition wrote. The first boot of RHCOS applies all presets (machine-id(5),
// First Boot Semantics), but all others are applied already.
//
// Provision returns when the machine responds in the boot after that. There, the payload's
// machine-config-daemon-firstboot.service stages the OS image and reboots again: see [Environment.AwaitOSImage].
func (s *Environment) Provision(ctx context.Context, config []byte) error {
	oracle, err := differential.BuildOracle(ctx)
	if err != nil {
		return err
	}
	program, err := os.Open(oracle.Ignition()) // the machine has the C library and libblkid in newer versions
	if err != nil {
		return fmt.Errorf("opening Ignition: %w", err)
	}
	defer program.Close()
	if err := s.Machine.Put(ctx, provisionDir+"/ignition", program, 0o755); err != nil {
		return err
	}
	if err := s.Machine.Put(ctx, provisionDir+"/config.ign", bytes.NewReader(config), 0o600); err != nil {
		return err
	}
	for _, stage := range []string{"fetch", "kargs", "files"} {
		_, err := s.Machine.Output(ctx, "cd "+provisionDir+" && IGNITION_CONFIG_FILE=config.ign ./ignition"+
			" -platform file -root / -stage "+stage+" -log-to-stdout -config-cache cache -state-file state -neednet neednet")
		if err != nil {
			return fmt.Errorf("provisioning the machine: %w", err)
		}
	}
	presets, err := s.Machine.Get(ctx, presetFile)
	if err != nil {
		return err
	}
	// One by one: systemctl enables none of several units if one does not exist.
	command := "systemctl daemon-reload"
	for _, unit := range presetUnits(string(presets)) {
		command += " && systemctl preset " + unit
	}
	if _, err := s.Machine.Output(ctx, command); err != nil {
		return fmt.Errorf("applying the presets: %w", err)
	}
	return s.Machine.Restart(ctx)
}

// presetUnits returns the units that a file of presets names (systemd.preset(5)). Instances of a template are on one
// line: "enable NAME@.service INSTANCE...".
func presetUnits(presets string) []string {
	var units []string
	for line := range strings.Lines(presets) {
		fields := strings.Fields(line)
		if len(fields) < 2 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		before, after, _ := strings.Cut(fields[1], "@")
		if len(fields) == 2 {
			units = append(units, fields[1])
		}
		for _, instance := range fields[2:] {
			units = append(units, before+"@"+instance+after)
		}
	}
	return units
}

// AwaitOSImage waits until the machine has booted the deployment of an image, NAME@DIGEST. Until
// then, the machine can reboot at any time.
func (s *Environment) AwaitOSImage(ctx context.Context, pullSpec string) error {
	ctx, cancel := context.WithTimeout(ctx, waittest.Timeout)
	defer cancel()
	_, want, _ := strings.Cut(pullSpec, "@")
	for {
		booted, err := s.awaitBootedDigest(ctx)
		switch {
		case err == nil && booted == want:
			return nil
		case err == nil:
			err = fmt.Errorf("image %q is booted", booted)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for a boot of image %s: %w; %w", pullSpec, context.Cause(ctx), err)
		case <-time.After(time.Second):
		}
	}
}

func (s *Environment) awaitBootedDigest(ctx context.Context) (string, error) {
	if err := s.Machine.WaitSSH(ctx); err != nil {
		return "", err
	}
	return s.BootedDigest(ctx)
}

// BootedDigest returns the digest of the image of the booted deployment, or "" if the deployment is from no image.
func (s *Environment) BootedDigest(ctx context.Context) (string, error) {
	return s.Machine.Output(ctx,
		"bootc status --format=json --format-version=1 | jq -r '.status.booted.image.imageDigest // empty'")
}
