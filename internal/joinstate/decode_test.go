// SPDX-License-Identifier: Apache-2.0

package joinstate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

const (
	stateHeader      = `"apiVersion":"hcp-node-agent.io/v1alpha1","kind":"JoinState"`
	generationHeader = `"apiVersion":"hcp-node-agent.io/v1alpha1","kind":"Generation"`
)

// A record of another version of the agent must be refused: the next write would drop what it does not
// know, and a state without known fields is that of a host that never joined.
func TestRecordsOfOtherVersionsAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		file, content string
		message       string // "" if the record is read
	}{
		"state": {StateFile, `{` + stateHeader + `,"started":"2026-01-01T00:00:00Z"}`, ""},
		"state of another version": {
			StateFile, `{"apiVersion":"hcp-node-agent.io/v9","kind":"JoinState"}`,
			`of kind "JoinState" in version "hcp-node-agent.io/v9"`,
		},
		"state of another kind":   {StateFile, `{` + generationHeader + `}`, `of kind "Generation"`},
		"state without a version": {StateFile, `{"started":"2026-01-01T00:00:00Z"}`, `of kind ""`},
		"state null":              {StateFile, `null`, `of kind ""`},
		"state with an unknown field": {
			StateFile, `{` + stateHeader + `,"futurePhase":"x"}`, `does not know the field "futurePhase"`,
		},
		"upgrade with an unknown field": {
			StateFile, `{` + stateHeader + `,"upgrade":{"mustNotRunOldSteps":true}}`,
			`does not know the field "mustNotRunOldSteps"`,
		},
		"setting that is unknown": {
			StateFile, `{` + stateHeader + `,"config":{"future":1}}`, `does not know the field "future"`,
		},
		"generation of another version": {NextFile, `{"apiVersion":"hcp-node-agent.io/v9","kind":"Generation"}`, "v9"},
		"generation without a version":  {NextFile, `{}`, `of kind ""`},
		"generation null":               {PreviousFile, `null`, `of kind ""`},
		"generation with an unknown field": {
			PreviousFile, `{` + generationHeader + `,"contents":{}}`, `does not know the field "contents"`,
		},
		"generation with an unknown file": {NextFile, `{` + generationHeader + `,"files":{"../evil":"eA=="}}`, "../evil"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, test.file), []byte(test.content), 0o600); err != nil {
			t.Fatal(err)
		}
		var err error
		if test.file == StateFile {
			_, err = Read(dir)
		} else {
			_, err = LoadGeneration(dir, test.file)
		}
		switch {
		case (err == nil) != (test.message == ""):
			t.Errorf("%s: %v", name, err)
		case err != nil && (!strings.Contains(err.Error(), test.message) || !strings.Contains(err.Error(), test.file) ||
			report.CodeOf(err) != report.Refused || !strings.Contains(string(report.RemedyOf(err)), "dnf upgrade 'hcp-node-*'")):
			t.Errorf("%s: %v (code %d, remedy %q)", name, err, report.CodeOf(err), report.RemedyOf(err))
		}
	}
}

// A generation without a payload, or with another one, must not be installed: it would remove or replace
// the payload of the node.
func TestDamagedGenerationIsRefused(t *testing.T) {
	for name, change := range map[string]func(content string) string{
		"without a payload": func(string) string {
			return `{` + generationHeader + `,"files":{},"filesDigest":"` + Generation{}.digestFiles() + `"}`
		},
		"another payload": func(content string) string { return strings.Replace(content, "cGF5bG9hZCBC", "cGF5bG9hZCBD", 1) },
		"trailing data":   func(content string) string { return content + "{}" },
	} {
		dir := t.TempDir()
		generation := Generation{PayloadDigest: "B", Files: map[string][]byte{PayloadFile: []byte("payload B")}}
		if err := generation.Save(dir, NextFile); err != nil {
			t.Fatal(err)
		}
		content, err := LoadFile(dir, NextFile)
		if err != nil {
			t.Fatal(err)
		}
		changed := change(string(content))
		if changed == string(content) {
			t.Fatalf("%s: the test changes nothing in %s", name, content)
		}
		if err := os.WriteFile(filepath.Join(dir, NextFile), []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := SaveFile(dir, PayloadFile, []byte("payload A")); err != nil {
			t.Fatal(err)
		}
		state := State{PayloadDigest: "A", Upgrade: &Upgrade{}}
		err = InstallUpgrade(dir, &state)
		payload, _ := LoadFile(dir, PayloadFile)
		if err == nil || string(payload) != "payload A" || state.PayloadDigest != "A" {
			t.Errorf("%s: %v; payload %q, digest %s", name, err, payload, state.PayloadDigest)
		}
	}
}
