// SPDX-License-Identifier: Apache-2.0

//go:build faults

package joinstate

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/lossydisk"
	"github.com/hcp-node-agent/hcp-node-agent/test/seeds"
)

// testGeneration returns a generation whose payload fills several blocks of a disk. Only A has overrides.
func testGeneration(name string) Generation {
	files := map[string][]byte{PayloadFile: bytes.Repeat([]byte(name), 10<<10)}
	if name == "A" {
		files[OverridesFile] = []byte(`{"apiVersion":"hcp-node-agent.io/v1alpha1","kind":"IgnitionOverrides","overrides":[]}`)
	}
	return NewGeneration(State{ConfigHash: name, PayloadDigest: name}, files)
}

// writeStep is one write to the state directory in the life of a node, and the generation that it installs.
type writeStep struct {
	name      string
	run       func(dir string, state *State) error
	installed string // "" if the step changes none
}

// lifeSteps returns the steps of a join with A, an upgrade to B, and its rollback. The rollback of an upgrade that has
// only begun is in checkRecords.
func lifeSteps() []writeStep {
	return []writeStep{
		{"join", func(dir string, state *State) error { return testGeneration("A").Install(dir, state) }, "A"},
		{"begin", func(dir string, state *State) (err error) {
			state.Upgrade, err = BeginUpgrade(dir, testGeneration("B"), Upgrade{To: "B"})
			return err
		}, ""},
		{"install", InstallUpgrade, "B"},
		{"finish", FinishUpgrade, ""},
		{"begin rollback", func(dir string, state *State) error {
			return BeginRollback(dir, *state, Upgrade{To: "A", RollingBack: "test"})
		}, ""},
		{"install rollback", func(dir string, state *State) error {
			read, err := Read(dir)
			*state = read
			return errors.Join(err, InstallUpgrade(dir, state))
		}, "A"},
		{"finish rollback", FinishUpgrade, ""},
	}
}

// recordedStep is a completed step, with the positions in the recording and the states.
type recordedStep struct {
	writeStep
	first, last   int
	before, after State
}

// A power cut at any time, on a disk that loses and reorders writes since its last flush, leaves records that can be
// read, of the step before or after it. An upgrade that has begun can be resumed or rolled back, and installs one
// generation as a whole.
func TestRecordsSurvivePowerCuts(t *testing.T) {
	lossydisk.Run(t, 2, func(t *testing.T, random *rand.Rand) {
		r := lossydisk.Format(t, lossydisk.RandomFileSystem(random)).Record(t)
		stateDir := func(points []string) string { return filepath.Join(points[0], "lib", "agent") }
		if random.IntN(3) > 0 {
			defer r.OtherProgram(t, random)()
		}
		dir, state := stateDir(r.Points), State{NodeName: "worker-0"}
		var life []recordedStep
		for _, step := range lifeSteps() {
			recorded := recordedStep{writeStep: step, first: r.Position(t)}
			var err error
			if recorded.before, err = Read(dir); err != nil {
				t.Fatal(err)
			}
			if err := step.run(dir, &state); err != nil {
				t.Fatalf("%s: %v", step.name, err)
			}
			recorded.last = r.Position(t)
			if recorded.after, err = Read(dir); err != nil {
				t.Fatal(err)
			}
			life = append(life, recorded)
		}
		for range seeds.Number(t, "CUTS", 10) {
			step := life[random.IntN(len(life))]
			position := lossydisk.RandomPosition(random, step.first, step.last)
			t.Run(fmt.Sprintf("%s cut at %d of %d to %d", step.name, position, step.first, step.last), func(t *testing.T) {
				checkRecords(t, random, stateDir(r.Cut(t, random, position).Mount(t)), step, position == step.first)
			})
		}
	})
}

// checkRecords checks the records after a power cut during a step, or before it, and resumes or rolls back an upgrade.
func checkRecords(t *testing.T, random *rand.Rand, dir string, step recordedStep, isBefore bool) {
	t.Helper()
	state, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	before, after := cmp.Diff(step.before, state), cmp.Diff(step.after, state)
	if before != "" && (isBefore || after != "") {
		t.Fatalf("the state is not that before (-want +got):\n%s\nnor that after:\n%s", before, after)
	}
	for _, name := range []string{NextFile, ReplacedFile, PreviousFile} {
		if _, err := LoadGeneration(dir, name); err != nil {
			t.Error(err)
		}
	}
	if state.NodeName == "" {
		return // the power was cut before the first state was written
	}
	want := state.ConfigHash
	if state.Upgrade != nil {
		want = state.Upgrade.To
		if state.Upgrade.RollingBack == "" && random.IntN(2) == 0 {
			want = "A"
			if _, err := LoadPrevious(dir, state); err != nil {
				t.Fatal(err)
			}
			state.Upgrade.RollingBack = "test"
			if err := BeginRollback(dir, state, *state.Upgrade); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(InstallUpgrade(dir, &state), FinishUpgrade(dir, &state)); err != nil {
			t.Fatal(err)
		}
	}
	current, err := CurrentGeneration(dir, state)
	if err != nil {
		t.Fatal(err)
	}
	expected := testGeneration(want)
	expected.TypeMeta = report.TypeMeta{}
	if diff := cmp.Diff(expected, current); diff != "" {
		t.Errorf("the generation is not %s (-want +got):\n%s", want, diff)
	}
	if state.ConfigHash == "B" {
		if previous, err := LoadPrevious(dir, state); err != nil || previous.ConfigHash != "A" {
			t.Errorf("the previous generation is %v, %v", previous, err)
		}
	}
}
