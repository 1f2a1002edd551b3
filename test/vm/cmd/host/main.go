// SPDX-License-Identifier: Apache-2.0

// Command host boots the disk image of a distribution in a virtual machine beside a control plane, and runs the
// acceptance test against it. It prints the path of the report, and fails if the test does.
//
// Usage: host -image FILE [-ignition] [-prepare SCRIPT] [-packages RPM], from inside the repository, as root
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
	"github.com/hcp-node-agent/hcp-node-agent/test/vm"
)

// options are the flags of the command.
type options struct {
	image, prepare, rpm, joinOptions, output string
	ignition, emulated                       bool
	cpus, memoryMiB                          int
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "host:", err)
		os.Exit(1)
	}
}

func parseFlags() (options, error) {
	var o options
	flag.StringVar(&o.image, "image", "", "qcow2 `FILE` with the host and its boot loader; it is not changed")
	flag.BoolVar(&o.ignition, "ignition", false, "the image runs Ignition at its first boot, not cloud-init")
	flag.StringVar(&o.prepare, "prepare", "",
		"`FILE` with a shell script that installs packages on the host; http_proxy leads to the internet")
	flag.StringVar(&o.rpm, "packages", "", "`RPM` of the agent (default: the agent that make build has built)")
	flag.StringVar(&o.joinOptions, "join-options", "--network-timeout "+testenv.NetworkTimeout, "`OPTIONS` of join")
	flag.IntVar(&o.cpus, "cpus", 2, "number of processors")
	flag.IntVar(&o.memoryMiB, "memory", 4096, "memory in `MiB`")
	flag.BoolVar(&o.emulated, "emulated", false, "emulate the processor, even if there is /dev/kvm")
	flag.StringVar(&o.output, "output", "", "`DIRECTORY` of the report and the logs (default build/host/IMAGE)")
	flag.Parse()
	if flag.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}
	if o.image == "" {
		return o, errors.New("-image is required")
	}
	if o.output == "" {
		o.output = filepath.Join("build", "host", filepath.Base(o.image))
	}
	var err error
	o.output, err = filepath.Abs(o.output)
	return o, err
}

func run(ctx context.Context) (err error) {
	o, err := parseFlags()
	if err != nil {
		return err
	}
	repository, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("finding the repository: %w", err)
	}
	// A socket and a program: neither the report nor logs.
	temporary, err := os.MkdirTemp("", "host-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temporary)) }()
	program, err := testenv.BuildAcceptance(ctx, repository, temporary)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(o.output, 0o700); err != nil {
		return err
	}
	environmentOptions := testenv.Options{
		Repository: repository, Dir: o.output, Log: os.Stderr, Disk: o.image, Emulated: o.emulated,
		CPUs: o.cpus, MemoryMiB: o.memoryMiB,
	}
	if o.ignition {
		environmentOptions.Class = vm.RHCOS
	}
	s, err := testenv.Open(ctx, environmentOptions)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	fmt.Printf("the host has booted; it is %s\nssh: %s\n", s.Machine.Execution(), s.Machine.Command())
	if o.prepare != "" {
		if err := prepare(ctx, s.Machine, o.prepare, temporary); err != nil {
			return err
		}
	}
	arguments := []string{"-join-options", o.joinOptions}
	if o.rpm != "" {
		arguments = append(arguments, "-package", o.rpm)
	} else if err := s.Install(ctx); err != nil {
		return err
	}
	command, err := s.Acceptance(ctx, program, o.output, arguments...)
	if err != nil {
		return err
	}
	return runAlone(ctx, command, temporary)
}

// runAlone runs a command in a PID namespace, so that its ssh connections end with it.
func runAlone(ctx context.Context, command *exec.Cmd, temporary string) error {
	alone := exec.CommandContext(ctx, "unshare", append([]string{"--pid", "--fork", "--kill-child"}, command.Args...)...)
	alone.Env = append(os.Environ(), "TMPDIR="+temporary)
	alone.Stdout, alone.Stderr = os.Stdout, os.Stderr
	if err := alone.Run(); err != nil {
		return fmt.Errorf("the acceptance test has not passed: %w", errors.Join(context.Cause(ctx), err))
	}
	return nil
}
