// SPDX-License-Identifier: Apache-2.0

package joinstate

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
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
	const overridesA = `{"apiVersion":"hcp-node-agent.io/v1alpha1","kind":"IgnitionOverrides","overrides":[]}`
	save(OverridesFile, overridesA)
	state := State{
		NodeName:      "worker-0",
		ConfigHash:    "a",
		PayloadDigest: "A",
		NodePool:      "clusters/pool",
		Config:        config.Join{PauseImage: "a"},
	}
	previous, err := CurrentGeneration(dir, state)
	if err != nil {
		t.Fatal(err)
	}
	if err := previous.Save(dir, PreviousFile); err != nil {
		t.Fatal(err)
	}

	next := NewGeneration(State{ConfigHash: "b", PayloadDigest: "B", NodePool: "clusters/pool"},
		map[string][]byte{PayloadFile: []byte("payload B"), SoftwareFile: []byte("{}")})
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
	check("a", map[string]string{PayloadFile: "payload A", OverridesFile: overridesA})
	if missing, err := LoadGeneration(dir, NextFile); missing != nil || err != nil {
		t.Errorf("without a file: %v, %v", missing, err)
	}
}

// The state must name the payload that is installed, so it is written after the files.
func TestStateIsWrittenAfterTheFilesOfAGeneration(t *testing.T) {
	for _, failing := range generationFiles {
		dir := t.TempDir()
		state := State{PayloadDigest: "A"}
		if err := Write(dir, state); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(dir, failing, "obstacle"), 0o700); err != nil {
			t.Fatal(err)
		}
		files := map[string][]byte{}
		for _, name := range generationFiles {
			files[name] = []byte("B")
		}
		err := NewGeneration(State{PayloadDigest: "B"}, files).Install(dir, &state)
		read, readErr := Read(dir)
		if err == nil || readErr != nil || read.PayloadDigest != "A" {
			t.Errorf("%s cannot be written: %v; the state names payload %s, %v", failing, err, read.PayloadDigest, readErr)
		}
	}
}

// An upgrade to the installed payload must not lose the previous one, and a rollback to the installed one
// is refused.
func TestRepeatedGenerationKeepsThePreviousOne(t *testing.T) {
	dir := t.TempDir()
	state := State{PayloadDigest: "A", Config: config.Join{UserData: "first", Software: "rpm"}}
	if err := errors.Join(Write(dir, state), SaveFile(dir, PayloadFile, []byte("payload A"))); err != nil {
		t.Fatal(err)
	}
	older := NewGeneration(State{PayloadDigest: "Z"}, map[string][]byte{PayloadFile: []byte("payload Z")})
	if err := older.Save(dir, PreviousFile); err != nil {
		t.Fatal(err)
	}
	again := NewGeneration(State{PayloadDigest: "A", Config: config.Join{UserData: "second", Software: "rpm"}},
		map[string][]byte{PayloadFile: []byte("payload A, with the bootstrap kubeconfig")})
	begun, err := BeginUpgrade(dir, again, Upgrade{})
	if err != nil || !begun.SameGeneration {
		t.Fatalf("%+v, %v", begun, err)
	}
	state.Upgrade = begun
	if err := errors.Join(InstallUpgrade(dir, &state), FinishUpgrade(dir, &state)); err != nil {
		t.Fatal(err)
	}
	if previous, err := LoadPrevious(dir, state); err != nil || previous.PayloadDigest != "Z" {
		t.Errorf("the previous generation is %+v, %v", previous, err)
	}

	if err := again.Save(dir, PreviousFile); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadPrevious(dir, state); report.CodeOf(err) != report.Refused ||
		!strings.Contains(err.Error(), "is the installed one") {
		t.Errorf("a rollback to the installed generation: %v", err)
	}
}
