// SPDX-License-Identifier: Apache-2.0

//go:build vm

// Package pair tests two nodes under OVN-Kubernetes: their pods talk over Geneve, and what happens to one node does not
// disturb the other.
package pair

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
	"github.com/hcp-node-agent/hcp-node-agent/test/vm/ovn"
)

// Names of the nodes.
const (
	firstNode  = testenv.NodeName
	secondNode = "worker-1"
)

// environments contains the control plane with the machine of each node, by the name of the node.
var environments map[string]*testenv.Environment

// network is the network plugin of the control plane, with the first machine.
var network *ovn.Cluster

// repository is the root of the checkout, logDirectory that of the logs.
var repository, logDirectory string

// installed is the snapshot of the second machine with the agent and the programs of OVN-Kubernetes.
const installed = "installed"

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
	if repository, err = filepath.Abs("../../.."); err != nil {
		return 1, err
	}
	if logDirectory, err = vm.LogDirectory(repository, "pair"); err != nil {
		return 1, err
	}
	first, err := testenv.Open(ctx, testenv.Options{
		Repository: repository, Dir: logDirectory, Log: os.Stderr, Snapshot: true, Stack: os.Getenv("FAMILIES"),
	})
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, first.Close()) }()
	if err := first.Install(ctx); err != nil {
		return 1, err
	}
	machine, err := first.AddMachine(ctx, secondNode, filepath.Join(logDirectory, secondNode))
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, machine.Close()) }()
	second := *first
	second.Machine = machine
	environments = map[string]*testenv.Environment{firstNode: first, secondNode: &second}
	if network, err = ovn.Deploy(ctx, first, repository, logDirectory); err != nil {
		return 1, err
	}
	defer network.Close()
	if err := network.Install(ctx, machine); err != nil {
		return 1, err
	}
	for _, e := range environments {
		// Open vSwitch creates the ID at its first start. Both machines are copies of one that has started it.
		_, err := e.Machine.Output(ctx, "rm -f /etc/openvswitch/system-id.conf; ! systemctl is-active openvswitch-switch || "+
			"systemctl restart openvswitch-switch; echo")
		if err != nil {
			return 1, err
		}
	}
	if err := machine.Snapshot(ctx, installed); err != nil {
		return 1, err
	}
	return m.Run(), nil
}
