// SPDX-License-Identifier: Apache-2.0

//go:build vm

// Package ovn joins a machine to a cluster with the real OVN-Kubernetes as network, and leaves it
// again. The tests never retry actions of the agent.
package ovn

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
	"github.com/hcp-node-agent/hcp-node-agent/test/vm"
)

// testCluster has the control plane, the machine and the network operator's components.
var testCluster *cluster

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "preparing the cluster:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	repository, err := filepath.Abs("../../..")
	if err != nil {
		return 1, err
	}
	dir, err := vm.LogDirectory(repository, "ovn")
	if err != nil {
		return 1, err
	}
	began := time.Now()
	s, err := testenv.Open(ctx, testenv.Options{Repository: repository, Dir: dir, Log: os.Stderr, Snapshot: true})
	if err != nil {
		return 1, err
	}
	testCluster = &cluster{Environment: s, dir: dir}
	defer testCluster.Close()
	if err := testCluster.Install(ctx); err != nil {
		return 1, err
	}
	if err := testCluster.deploy(ctx); err != nil {
		return 1, err
	}
	fmt.Printf("control plane, machine and OVN-Kubernetes ready in %.0f s; logs: %s\n", time.Since(began).Seconds(), dir)
	code := m.Run()
	if os.Getenv("HOLD") != "" {
		interrupt, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		fmt.Printf("kubeconfig: %s\nmachine:    %s\nCtrl-C ends both\n", testCluster.ControlPlane.Kubeconfig,
			testCluster.Machine.Command())
		<-interrupt.Done()
	}
	return code, nil
}
