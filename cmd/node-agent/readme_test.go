package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// table reads the rows of the README's table with this heading: the first
// cell, without its quotes, and the second.
func table(t *testing.T, heading string) [][2]string {
	t.Helper()
	content, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(content), "| "+heading+" | |\n|---|---|\n")
	if !found {
		t.Fatalf("README.md has no table %q", heading)
	}
	var rows [][2]string
	for line := range strings.Lines(rest) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 4 {
			break
		}
		rows = append(rows, [2]string{strings.Trim(cells[1], " `"), strings.TrimSpace(cells[2])})
	}
	return rows
}

func TestReadmeListsTheVerbs(t *testing.T) {
	var want, got []string
	for _, v := range verbs() {
		want = append(want, v.name)
	}
	for _, row := range table(t, "verb") {
		got = append(got, row[0])
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-verbs +README):\n%s", diff)
	}
}

// Scripts and the unit act on exit codes: README, help and code say the same
// of them.
func TestReadmeListsTheExitCodes(t *testing.T) {
	words := map[report.Code]string{
		report.Done: "done", report.Failed: "failed", report.Usage: "usage", report.Refused: "refused by a check",
		report.CredentialRefused: "credential refused", report.ApprovalMissing: "approval", report.NetworkRolledBack: "rolled back",
		report.RebootNeeded: "reboot needed", report.DriftFound: "drift found",
	}
	readme := map[report.Code]bool{}
	for _, row := range table(t, "exit code") {
		n, err := strconv.Atoi(row[0])
		code := report.Code(n)
		if err != nil || words[code] == "" || !strings.Contains(row[1], words[code]) {
			t.Errorf("README: exit code %s is %q, the code has %q", row[0], row[1], words[code])
		}
		readme[code] = true
	}
	help := map[report.Code]bool{}
	for _, match := range regexp.MustCompile(`(\d) ([a-z, ]+?)(?:   |\n)`).FindAllStringSubmatch(exitCodes, -1) {
		n, err := strconv.Atoi(match[1])
		code := report.Code(n)
		if err != nil || !strings.Contains(match[2], words[code]) {
			t.Errorf("help: exit code %s is %q, the code has %q", match[1], match[2], words[code])
		}
		help[code] = true
	}
	for code, word := range words {
		if !readme[code] || !help[code] {
			t.Errorf("exit code %d (%s) is in README: %t, in help: %t", code, word, readme[code], help[code])
		}
	}
}

// What does not mend itself is not tried again by the unit; what may, is.
func TestUnitIsNotRestartedForWhatStays(t *testing.T) {
	content, err := os.ReadFile("../../systemd/hcp-node-agent.service")
	if err != nil {
		t.Fatal(err)
	}
	match := regexp.MustCompile(`(?m)^RestartPreventExitStatus=(.*)$`).FindStringSubmatch(string(content))
	if match == nil {
		t.Fatal("the unit restarts for everything")
	}
	var want []string
	for _, code := range []report.Code{report.Usage, report.Refused, report.CredentialRefused, report.NetworkRolledBack, report.RebootNeeded} {
		want = append(want, strconv.Itoa(int(code)))
	}
	if diff := cmp.Diff(want, strings.Fields(match[1])); diff != "" {
		t.Errorf("(-want +unit):\n%s", diff)
	}
}

// The README's examples of an override and of a configuration can be used.
func TestReadmeChangesThePayload(t *testing.T) {
	content, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	block := func(language string) []byte {
		_, rest, _ := strings.Cut(string(content), "```"+language+"\n")
		text, _, found := strings.Cut(rest, "```")
		if !found {
			t.Fatalf("README.md has no block of %s", language)
		}
		return []byte(text)
	}
	if err := ignition.CheckOverride("README", block("json")); err != nil {
		t.Error(err)
	}
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, block("yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	join, err := config.Load(config.Source{File: file, Lookup: func(string) (string, bool) { return "", false }, Given: pflag.NewFlagSet("none", pflag.ContinueOnError)})
	if err != nil || len(join.IgnitionOverrides) != 1 || len(join.Payload.Drop) != 1 {
		t.Errorf("%+v, %v", join, err)
	}
}
