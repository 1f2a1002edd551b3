// SPDX-License-Identifier: Apache-2.0

package ostree

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// command runs a program and returns its output. Its error contains what the program printed to stderr.
func command(name string, args ...string) (string, error) {
	var out, errs bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("running %s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(errs.String()))
	}
	return out.String(), nil
}

// writableCommand runs a program with a writable /sysroot, as bootc does: in a mount namespace of its
// own (crates/lib/src/cli.rs, prepare_for_write).
func writableCommand(name string, args ...string) (string, error) {
	return command("unshare", append([]string{
		"--mount", "--", "sh", "-c", `mount -o remount,rw /sysroot && exec "$@"`, "sh", name,
	}, args...)...)
}

// admin runs a command of ostree admin, which makes /sysroot and /boot writable itself.
func admin(args ...string) error {
	_, err := command("ostree", append([]string{"admin"}, args...)...)
	return err
}

// reboot starts a reboot and does not return, as bootc's --apply (crates/lib/src/reboot.rs).
func reboot() error {
	if _, err := command("systemctl", "--no-block", "reboot"); err != nil {
		return err
	}
	select {}
}

// requireRoot returns the error that bootc prints to other users (crates/lib/src/cli.rs, require_root).
func requireRoot() error {
	if os.Getuid() != 0 {
		return errors.New("This command must be executed as the root user") //nolint:staticcheck // bootc's message
	}
	return nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
