// SPDX-License-Identifier: Apache-2.0

//go:build vm

// Package network tests the migration of every kind of uplink into br-ex and back, in a virtual
// machine in the lab. The network must be the same before and after, seen from outside and from
// the host. The tests never retry actions of the agent.
//
// KINDS selects kinds by name, for example KINDS="dhcp4,bond-lacp"; "usual" omits the variants.
package network

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/test/vm"
	"github.com/hcp-node-agent/hcp-node-agent/test/vm/lab"
	"github.com/hcp-node-agent/hcp-node-agent/test/vm/uplink"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// around and machine are the lab and the machine that all tests use in sequence. logs is the
// directory for the journals of failed tests.
var (
	testLab *lab.Lab
	machine *vm.Machine
	logs    string
)

// kinds are the selected kinds.
var kinds []uplink.Kind

// installedSnapshot is the machine's snapshot after the installation of the agent.
const installedSnapshot = "installed"

func TestMain(m *testing.M) {
	code, err := runTests(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "setting up the lab:", err)
		code = 1
	}
	os.Exit(code)
}

func runTests(m *testing.M) (code int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), waittest.Timeout)
	defer cancel()
	repository, err := filepath.Abs("../../..")
	if err != nil {
		return 1, err
	}
	if logs, err = vm.LogDirectory(repository, "network"); err != nil {
		return 1, err
	}
	if kinds, err = uplink.Find(os.Getenv("KINDS")); err != nil {
		return 1, err
	}
	image, err := vm.BuildImage(ctx, repository, os.Stderr)
	if err != nil {
		return 1, err
	}
	if testLab, err = lab.Open(ctx); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, testLab.Close()) }()
	// A machine that is restored from its saved state waits for an address.
	if err := testLab.Arrange(ctx, lab.Setup{Services: map[int]lab.Services{0: {DHCP: true}}}); err != nil {
		return 1, err
	}
	machine, err = vm.FromSnapshot(ctx, vm.Config{Image: image, NICs: testLab.NICs(), Dir: filepath.Join(logs, "machine")})
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, machine.Close()) }()
	if err := install(ctx, repository); err != nil {
		return 1, err
	}
	if err := machine.Snapshot(ctx, installedSnapshot); err != nil {
		return 1, err
	}
	code = m.Run()
	printRows(os.Stdout)
	return code, nil
}

// install copies the agent, its unit and mortal to the machine.
func install(ctx context.Context, repository string) error {
	mortal := filepath.Join(logs, "mortal")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", mortal, "./test/vm/mortal")
	build.Dir, build.Env = repository, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building mortal: %w: %s", err, out)
	}
	for _, file := range []struct {
		from, to string
		mode     os.FileMode
	}{
		{filepath.Join(repository, "bin/hcp-node-agent"), "/usr/bin/hcp-node-agent", 0o755},
		{
			filepath.Join(repository, "systemd/hcp-node-agent.service"), "/usr/lib/systemd/system/hcp-node-agent.service", 0o644,
		},
		{mortal, "/usr/bin/mortal", 0o755},
	} {
		content, err := os.ReadFile(file.from)
		if err != nil {
			return fmt.Errorf("reading what is to be installed (make build makes it): %w", err)
		}
		if err := machine.Put(ctx, file.to, bytes.NewReader(content), file.mode); err != nil {
			return err
		}
	}
	_, err := machine.Output(ctx, "systemctl daemon-reload && systemctl enable hcp-node-agent.service && sync")
	return err
}
