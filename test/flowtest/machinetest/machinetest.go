// SPDX-License-Identifier: Apache-2.0

// Package machinetest opens hosts below temporary directories for tests.
package machinetest

import (
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/networkplugin"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs/migrate"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

// Open returns a host below root with a ledger of its own, which the test
// closes.
func Open(t *testing.T, root string) *machine.Machine {
	t.Helper()
	tree, err := hostfs.OpenTree(root)
	flowtest.NoError(t, err)
	t.Cleanup(func() { _ = tree.Close() })
	m := &machine.Machine{Tree: tree, Bridge: &migrate.Driver{Tree: tree}, Plugin: &networkplugin.Driver{}}
	m.Ledger, err = ledger.Open(t.TempDir(), m.Drivers())
	flowtest.NoError(t, err)
	t.Cleanup(func() { _ = m.Ledger.Close() })
	return m
}
