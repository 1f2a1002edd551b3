// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"path/filepath"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

func TestRemoveRecordsRemovesTheAgentsFiles(t *testing.T) {
	dir := t.TempDir()
	l, err := ledger.Open(dir, ledger.Drivers{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, name := range []string{
		joinstate.PayloadFile, joinstate.OverridesFile, joinstate.UserDataFile, joinstate.StateFile,
	} {
		if err := joinstate.SaveFile(dir, name, []byte("secret")); err != nil {
			t.Fatal(err)
		}
	}
	if err := joinstate.SaveFile(filepath.Join(dir, joinstate.KeyDir), "kubelet.key", []byte("secret")); err != nil {
		t.Fatal(err)
	}
	if err := (&Machine{Ledger: l}).RemoveRecords(dir); err != nil {
		t.Fatal(err)
	}
	if left := flowtest.ListTree(t, dir); left != nil {
		t.Errorf("left: %q", left)
	}
}
