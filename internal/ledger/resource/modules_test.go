// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"os"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

func TestUndoLeavesModulesLoaded(t *testing.T) {
	entries, err := os.ReadDir("/sys/module")
	if err != nil || len(entries) == 0 {
		t.Fatalf("this kernel has no /sys/module: %v", err)
	}
	loaded := entries[0].Name()
	state, err := Modules{}.Get(t.Context(), ledger.Change{Target: strings.ReplaceAll(loaded, "_", "-")})
	if err != nil || !state.Present {
		t.Errorf("%s: %v, %v", loaded, state, err)
	}
	if state, err := (Modules{}).Get(t.Context(), ledger.Change{Target: "no_such_module"}); err != nil || state.Present {
		t.Errorf("a module that is not there: %v, %v", state, err)
	}
	if err := (Modules{}).Restore(t.Context(), ledger.Change{Target: "no_such_module"}, ledger.State{}); err != nil {
		t.Error(err)
	}
}
