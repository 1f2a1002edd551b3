// SPDX-License-Identifier: Apache-2.0

package leave

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest/machinetest"
)

// trustStore puts an update-ca-trust first in PATH that builds its store from the
// anchors below root, as the one of ca-certificates does. It returns the path of
// the store.
func trustStore(t *testing.T, root string) string {
	t.Helper()
	bin, store := t.TempDir(), filepath.Join(t.TempDir(), "tls-ca-bundle.pem")
	script := "#!/bin/sh\ncat " + root + "/etc/pki/ca-trust/source/anchors/* >" + store + " 2>/dev/null || true\n"
	path := filepath.Join(bin, "update-ca-trust")
	flowtest.NoError(t, os.WriteFile(path, []byte(script), 0o700)) //nolint:gosec // must be executable
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	return store
}

func TestTrustStoreFollowsTheCAsOfAJoinAndALeave(t *testing.T) {
	const anchor = "/etc/pki/ca-trust/source/anchors/user-ca-bundle.crt"
	for name, test := range map[string]struct {
		target, content string
		built           bool
	}{
		"a CA":                  {anchor, "CLUSTER CA", true},
		"an empty file":         {anchor, "", false},
		"a file somewhere else": {"/etc/pki/other.crt", "CLUSTER CA", false},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			m := machinetest.Open(t, root)
			store := trustStore(t, root)
			change := ledger.Change{
				Kind: ledger.File, Target: test.target,
				Desired: ledger.FileState([]byte(test.content), 0o644),
			}
			files := []ledger.Change{change}
			_, err := m.Ledger.Apply(t.Context(), "files", files)
			flowtest.NoError(t, err)
			flowtest.NoError(t, machine.UpdateTrustStoreIfNeeded(t.Context(), files))
			content, err := os.ReadFile(store)
			if built := err == nil && strings.Contains(string(content), "CLUSTER CA"); built != test.built {
				t.Errorf("the store has %q, %v", content, err)
			}
			_, err = undoStep(&Document{})(t.Context(), &Flow{Machine: m, State: joinstate.State{Started: time.Now()}},
				report.Log{})
			flowtest.NoError(t, err)
			if content, err := os.ReadFile(store); err != nil || strings.Contains(string(content), "CLUSTER CA") {
				t.Errorf("after the leave the store has %q, %v", content, err)
			}
		})
	}
}
