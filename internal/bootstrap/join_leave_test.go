// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

// If an administrator names a cluster, the host joins it instead of finishing the
// leave. The join starts over, because the leave may have undone any part of the
// last join.
func TestJoinAfterAnUnfinishedLeaveStartsOver(t *testing.T) {
	dir := t.TempDir()
	userData := filepath.Join(t.TempDir(), "user-data.ign")
	if err := os.WriteFile(userData, flowtest.EncodeUserData(t, "a.example.com", "clusters/one", "11"),
		0o600); err != nil {
		t.Fatal(err)
	}
	left := joinstate.State{
		Started:             time.Now(),
		Finished:            time.Now(),
		LastStep:            "schedulable",
		Leaving:             time.Now(),
		PayloadDigest:       "ff",
		PayloadConfigHash:   "11",
		PayloadSourceDigest: "aa",
	}
	if err := joinstate.Write(dir, left); err != nil {
		t.Fatal(err)
	}
	run, err := prepareJoin(t.Context(), request.Options{StateDir: dir, Config: config.Join{UserData: userData}})
	if err != nil {
		t.Fatal(err)
	}
	if err := newJoinRecord(&run, &machine.Machine{Ledger: &ledger.Ledger{}}).start(); err != nil {
		t.Fatal(err)
	}
	state, err := joinstate.Read(dir)
	if err != nil || state.Phase() != "joining" ||
		state.PayloadDigest+state.PayloadConfigHash+state.PayloadSourceDigest != "" {
		t.Errorf("phase %q, payload %q, %v", state.Phase(), state.PayloadDigest, err)
	}
}
