// SPDX-License-Identifier: Apache-2.0

package joinstate

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
)

func TestGenerationIsInstalledAndRolledBack(t *testing.T) {
	dir := t.TempDir()
	save := func(name, content string) {
		t.Helper()
		if err := SaveFile(dir, name, []byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	save(PayloadFile, "payload A")
	save(OverridesFile, "overrides A")
	state := State{NodeName: "worker-0", ConfigHash: "a", PayloadDigest: "A", NodePool: "clusters/pool", Config: config.Join{PauseImage: "a"}}
	previous, err := CurrentGeneration(dir, state)
	if err != nil {
		t.Fatal(err)
	}
	if err := previous.Save(dir, PreviousFile); err != nil {
		t.Fatal(err)
	}

	next := NewGeneration(State{ConfigHash: "b", PayloadDigest: "B", NodePool: "clusters/pool"}, map[string][]byte{PayloadFile: []byte("payload B"), SoftwareFile: []byte("{}")})
	if err := next.Install(dir, &state); err != nil {
		t.Fatal(err)
	}
	check := func(hash string, want map[string]string) {
		t.Helper()
		if read, err := Read(dir); err != nil || read.ConfigHash != hash || read.NodeName != "worker-0" {
			t.Errorf("state %+v, %v", read, err)
		}
		got := map[string]string{}
		for _, name := range generationFiles {
			if content, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
				got[name] = string(content)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("files (-want +got):\n%s", diff)
		}
	}
	check("b", map[string]string{PayloadFile: "payload B", SoftwareFile: "{}"})

	saved, err := LoadGeneration(dir, PreviousFile)
	if err != nil || saved == nil {
		t.Fatal(saved, err)
	}
	if err := saved.Install(dir, &state); err != nil {
		t.Fatal(err)
	}
	check("a", map[string]string{PayloadFile: "payload A", OverridesFile: "overrides A"})
	if missing, err := LoadGeneration(dir, NextFile); missing != nil || err != nil {
		t.Errorf("without a file: %v, %v", missing, err)
	}
}
