// SPDX-License-Identifier: Apache-2.0

//go:build vm

// Package e2e tests the agent in a virtual machine against a real control plane. The tests never
// retry actions of the agent.
package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
	"github.com/hcp-node-agent/hcp-node-agent/test/vm"
	"github.com/hcp-node-agent/hcp-node-agent/test/vm/kubelets"
)

// environment is the environment that all tests use in sequence.
var environment *testenv.Environment

// logs is the directory of the logs.
var logs string

// installedSnapshot is the machine's snapshot after the installation of the agent, or without the agent for [vm.RHCOS].
const installedSnapshot = "installed"

func TestMain(m *testing.M) {
	code, err := runTests(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "setting up the test environment:", err)
		code = 1
	}
	os.Exit(code)
}

func runTests(m *testing.M) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Hour)
	defer cancel()
	repository, err := filepath.Abs("../../..")
	if err != nil {
		return 1, err
	}
	if logs, err = vm.LogDirectory(repository, "e2e"); err != nil {
		return 1, err
	}
	began := time.Now()
	class, bin := vm.Class(os.Getenv("HOST_CLASS")), ""
	if os.Getenv("CONTROL_PLANE") == "newest" {
		if bin, err = kubelets.BuildControlPlane(ctx, repository); err != nil {
			return 1, err
		}
	}
	environment, err = testenv.Open(ctx, testenv.Options{
		Repository: repository, Dir: logs, Log: os.Stderr, Snapshot: true, Class: class, Bin: bin,
	})
	if err != nil {
		return 1, err
	}
	defer environment.Close()
	kubetest.Plane = environment.ControlPlane
	if class != vm.RHCOS { // its user data can install the agent
		if err := environment.Install(ctx); err != nil {
			return 1, err
		}
	}
	if err := environment.Machine.Snapshot(ctx, installedSnapshot); err != nil {
		return 1, err
	}
	fmt.Printf("control plane and machine ready in %.1f s; logs: %s\n", time.Since(began).Seconds(), logs)
	return m.Run(), nil
}
