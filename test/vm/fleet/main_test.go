// SPDX-License-Identifier: Apache-2.0

//go:build vm

// Package fleet tests the administrator's side with three machines: enrollment, the controller, and upgrades that reach
// the nodes automatically.
package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
	"github.com/hcp-node-agent/hcp-node-agent/test/vm"
)

// environment contains the control plane and the first machine.
var environment *testenv.Environment

// machines are the machines by the names of their Nodes.
var machines map[string]*vm.Machine

// directory contains the logs, and the files of the administrator.
var directory string

// Names of the Nodes. Environment has the first machine.
const (
	firstNode  = testenv.NodeName
	secondNode = "worker-1"
	thirdNode  = "worker-2"
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "preparing the machines:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Hour)
	defer cancel()
	repository, err := filepath.Abs("../../..")
	if err != nil {
		return 1, err
	}
	if directory, err = vm.LogDirectory(repository, "fleet"); err != nil {
		return 1, err
	}
	environment, err = testenv.Open(ctx, testenv.Options{
		Repository: repository, Dir: directory, Log: os.Stderr, Snapshot: true,
	})
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, environment.Close()) }()
	if err := environment.Install(ctx); err != nil {
		return 1, err
	}
	machines = map[string]*vm.Machine{firstNode: environment.Machine}
	for _, name := range []string{secondNode, thirdNode} {
		machine, err := environment.AddMachine(ctx, name, filepath.Join(directory, name))
		if err != nil {
			return 1, err
		}
		defer func() { err = errors.Join(err, machine.Close()) }()
		machines[name] = machine
	}
	return m.Run(), nil
}
