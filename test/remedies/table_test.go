// SPDX-License-Identifier: Apache-2.0

package remedies_test

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/hcp-node-agent/hcp-node-agent/test/remedies"
)

var update = flag.Bool("update", false, "add new remedies to the table, and remove those that are gone")

// The table contains each remedy of the source, and states how it is tried.
func TestTableContainsEveryRemedy(t *testing.T) {
	var inSource []string
	for _, remedy := range remedies.Below(t, "../../cmd", "../../internal") {
		// A remedy that is composed of others is tried as each of them.
		if command := remedy.Commands(); strings.Trim(command, remedies.Placeholder+" \n;&") != "" {
			inSource = append(inSource, command)
		}
	}
	slices.Sort(inSource)
	inSource = slices.Compact(inSource)
	entries := remedies.Load(t)
	isGone := func(e remedies.Entry) bool { return !slices.Contains(inSource, e.Command) }
	if *update {
		entries = slices.DeleteFunc(entries, isGone)
	}
	for _, command := range inSource {
		isSame := func(e remedies.Entry) bool { return e.Command == command }
		switch {
		case slices.ContainsFunc(entries, isSame):
		case *update:
			entries = append(entries, remedies.Entry{Command: command})
		default:
			t.Errorf("the table does not contain %q; add it with: go test ./test/remedies -update", command)
		}
	}
	if *update {
		writeTable(t, entries)
	}
	for _, entry := range entries {
		if isGone(entry) {
			t.Errorf("no remedy has the command %q; remove it with: go test ./test/remedies -update", entry.Command)
		}
		if err := entry.Check(); err != nil {
			t.Errorf("%q: %v", entry.Command, err)
		}
		if out, err := exec.CommandContext(t.Context(), "bash", "-n", "-c", entry.Script()).CombinedOutput(); err != nil {
			t.Errorf("%q is not valid shell: %s", entry.Script(), out)
		}
	}
}

func writeTable(t *testing.T, entries []remedies.Entry) {
	t.Helper()
	slices.SortFunc(entries, func(a, b remedies.Entry) int { return strings.Compare(a.Command, b.Command) })
	var content bytes.Buffer
	encoder := yaml.NewEncoder(&content)
	encoder.SetIndent(2)
	if err := encoder.Encode(entries); err != nil {
		t.Fatal(err)
	}
	const path = "testdata/remedies.yaml"
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	comment, _, _ := strings.Cut(string(before), "\n- ")
	if err := os.WriteFile(path, []byte(comment+"\n"+content.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}
