// SPDX-License-Identifier: Apache-2.0

package joinstate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func TestStateRoundTrip(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	if state, err := Read(dir); err != nil || state.Exists() {
		t.Errorf("before the first join: %+v, %v", state, err)
	}
	want := State{
		TypeMeta: report.Meta("JoinState"),
		Config: config.Join{
			UserData:      "user-data.ign",
			Until:         "ready",
			Timeout:       config.Duration(90 * time.Second),
			Skip:          []string{"network"},
			KeepBootstrap: true,
		},
		NodeName: "worker-7", MachineID: "0123", Endpoint: "ignition.example.com", NodePool: "clusters/demo", Hosted: true,
		ConfigHash: "aa",
		APIServer:  "https://api:6443", APIServerCA: []byte("PEM"), PayloadDigest: "ff", PayloadConfigHash: "aa",
		LastStep: "files",
		Started:  time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC),
	}
	if err := Write(dir, want); err != nil {
		t.Fatal(err)
	}
	got, err := Read(dir)
	if err != nil || !got.Exists() || !got.Finished.IsZero() {
		t.Fatalf("%+v, %v", got, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for p, mode := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, StateFile): 0o600} {
		if info, err := os.Stat(p); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: mode %v, %v", p, info.Mode(), err)
		}
	}
	content, err := os.ReadFile(filepath.Join(dir, StateFile))
	if err != nil || strings.Contains(string(content), `"finished"`) || !strings.HasSuffix(string(content), "}\n") {
		t.Errorf("%s, %v", content, err)
	}
}

func TestDamagedStateIsAnError(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, StateFile)
	for _, content := range []string{"", "{", `{"started":"yesterday"}`} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if state, err := Read(dir); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%q was read as %+v, %v", content, state, err)
		}
	}
}

// Saved files must be protected as secrets, even if an older file was not.
func TestSaveFileIsPrivateAndRemoveFilesRemoves(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, UserDataFile)
	if err := os.WriteFile(name, []byte("older and longer"), 0o644); err != nil { //nolint:gosec // that is the point
		t.Fatal(err)
	}
	if err := SaveFile(dir, UserDataFile, []byte("secret")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if content, err := LoadFile(dir, UserDataFile); err != nil || string(content) != "secret" {
		t.Errorf("%q, %v", content, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("something was left beside it: %v, %v", entries, err)
	}
	for range 2 {
		if err := RemoveFiles(dir, UserDataFile); err != nil {
			t.Error(err)
		}
	}
	if content, err := LoadFile(dir, UserDataFile); err != nil || content != nil {
		t.Errorf("after dropping it: %q, %v", content, err)
	}
}

func TestHasCompleted(t *testing.T) {
	now := time.Now()
	var done State
	for _, step := range []string{"preflight", "files", "preflight"} { // a later run repeats steps
		done.Complete(step, "fetch")
	}
	leaving := done
	leaving.Leaving = now
	for name, test := range map[string]struct {
		state State
		want  bool
	}{
		"nothing": {State{}, false},
		"begun":   {State{Started: now}, false},
		"done":    {done, true},
		"leaving": {leaving, false},
	} {
		if got := test.state.HasCompleted("files"); got != test.want {
			t.Errorf("%s: completed %t, want %t", name, got, test.want)
		}
	}
	if diff := cmp.Diff([]string{"preflight", "files"}, done.Completed); diff != "" || done.LastStep != "preflight" ||
		done.NextStep != "fetch" {
		t.Errorf("last %q, next %q, completed (-want +got):\n%s", done.LastStep, done.NextStep, diff)
	}
}

// A URL is either that of the API server or a former one.
func TestMoveAPIServer(t *testing.T) {
	state := State{APIServer: "a"}
	for _, step := range []struct{ to, former string }{
		{"b", "a"}, {"b", "a"}, {"c", "a b"}, {"a", "b c"}, {"b", "c a"},
	} {
		state.MoveAPIServer(step.to)
		if former := strings.Join(state.FormerAPIServers, " "); state.APIServer != step.to || former != step.former {
			t.Errorf("moved to %s: %s, former %s", step.to, state.APIServer, former)
		}
	}
	state.SetAPIServer("c")
	if former := strings.Join(state.FormerAPIServers, " "); former != "a" {
		t.Errorf("with a payload of c: former %s", former)
	}
}
