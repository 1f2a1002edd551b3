// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"slices"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

func TestEnablesOVSConfiguration(t *testing.T) {
	unit := func(name, enabled string) []ledger.Change {
		return []ledger.Change{{Kind: ledger.Unit, Target: name, Desired: ledger.State{Present: true, Enabled: enabled}}}
	}
	got := []bool{
		enablesOVSConfiguration(unit("ovs-configuration.service", "enabled")),
		enablesOVSConfiguration(unit("ovs-configuration.service", "disabled")),
		enablesOVSConfiguration(unit("other.service", "enabled")), enablesOVSConfiguration(nil),
	}
	if want := []bool{true, false, false, false}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
