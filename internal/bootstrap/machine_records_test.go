package bootstrap

import (
	"path/filepath"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

func TestRemoveRecordsRemovesTheAgentsFiles(t *testing.T) {
	dir := t.TempDir()
	l, err := ledger.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, name := range []string{PayloadFile, OverridesFile, UserDataFile, StateFile} {
		if err := SaveFile(dir, name, []byte("secret")); err != nil {
			t.Fatal(err)
		}
	}
	if err := SaveFile(filepath.Join(dir, KeyDir), "kubelet.key", []byte("secret")); err != nil {
		t.Fatal(err)
	}
	if err := (&Machine{Ledger: l}).RemoveRecords(dir); err != nil {
		t.Fatal(err)
	}
	if left := ListTree(t, dir); left != nil {
		t.Errorf("left: %q", left)
	}
}
