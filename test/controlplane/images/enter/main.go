// SPDX-License-Identifier: Apache-2.0

// Command enter executes a binary of the host, for pods that need more than one
// static binary. It changes the root directory to ROOT, where the pod mounts the
// host's root, and replaces itself with the command.
//
// Usage: enter ROOT COMMAND [ARGUMENT...]
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "enter:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 2 {
		return errors.New("usage: enter ROOT COMMAND [ARGUMENT...]")
	}
	if err := syscall.Chroot(args[0]); err != nil {
		return fmt.Errorf("changing the root directory to %s: %w", args[0], err)
	}
	if err := os.Chdir("/"); err != nil {
		return fmt.Errorf("changing the working directory: %w", err)
	}
	// The image's PATH names directories of the image.
	if err := os.Setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"); err != nil {
		return fmt.Errorf("setting PATH: %w", err)
	}
	command, err := exec.LookPath(args[1])
	if err != nil {
		return fmt.Errorf("finding the command below %s: %w", args[0], err)
	}
	return syscall.Exec(command, args[1:], os.Environ())
}
