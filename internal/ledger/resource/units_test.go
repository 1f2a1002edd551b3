// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

func TestNormalizeEnablement(t *testing.T) {
	for file, want := range map[string]string{
		"enabled": "enabled", "enabled-runtime": "enabled", "alias": "enabled", "masked-runtime": "masked",
		"disabled": "disabled", "static": "static", "indirect": "indirect", "": "",
	} {
		if got := normalizeEnablement(file); got != want {
			t.Errorf("enablement(%q) = %q, want %q", file, got, want)
		}
	}
}

// A desired state that is already reached or empty does not call systemd, which is missing
// here.
func TestUnitsInDesiredStateNeedNoSystemd(t *testing.T) {
	units := &Units{Systemd: (*systemd.Manager)(nil)}
	for name, test := range map[string]struct{ now, want ledger.State }{
		"as desired": {
			ledger.State{Enabled: "enabled", Active: "active"}, ledger.State{Enabled: "enabled", Active: "active"},
		},
		"no desired state": {ledger.State{Enabled: "enabled", Active: "inactive"}, ledger.State{}},
		"follows the file": {ledger.State{Enabled: "disabled"}, ledger.State{Enabled: "static"}},
	} {
		t.Run(name, func(t *testing.T) {
			if err := units.Set(t.Context(), ledger.Change{Kind: ledger.Unit, Target: "a.service", Desired: test.want},
				test.now); err != nil {
				t.Error(err)
			}
		})
	}
	err := units.Set(t.Context(), ledger.Change{
		Kind: ledger.Unit, Target: "a.service",
		Desired: ledger.State{Active: "failed"},
	}, ledger.State{Active: "active"})
	if err == nil || !strings.Contains(err.Error(), `"failed"`) {
		t.Errorf("a state that nothing can be brought to: %v", err)
	}
}
