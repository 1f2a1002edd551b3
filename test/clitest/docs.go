// SPDX-License-Identifier: Apache-2.0

package clitest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// CheckManPages checks that groff and mandoc accept the man pages without warnings, and that there
// is one for each command and further ones.
func (p Program) CheckManPages(t *testing.T, further int) {
	t.Helper()
	t.Setenv("SOURCE_DATE_EPOCH", "1795219200")
	dir := t.TempDir()
	if got := p.Exec(t, "", "docs", "man", dir); got.Code != report.Success || got.Out+got.Err != "" {
		t.Fatalf("%+v", got)
	}
	pages, err := filepath.Glob(filepath.Join(dir, "*.[58]"))
	if all := cli.AvailableCommands(p.Root()); err != nil || len(pages) != len(all)+further {
		t.Fatalf("there are %d pages of %d commands, %v", len(pages), len(all), err)
	}
	for _, checker := range [][]string{
		{"groff", "-ww", "-mandoc", "-Tutf8", "-z"},
		{"mandoc", "-T", "lint", "-W", "warning"},
	} {
		command := exec.CommandContext(t.Context(), checker[0], append(checker[1:], pages...)...)
		out, err := command.CombinedOutput()
		if err != nil || len(out) > 0 {
			t.Errorf("%s: %v (make deps installs what tests need)\n%s", checker[0], err, out)
		}
	}
}

// CheckReference checks that a reference matches the current commands.
func (p Program) CheckReference(t *testing.T, file string) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(content), p.Exec(t, "", "docs", "markdown").Out); diff != "" {
		t.Errorf("make docs updates %s (-file +now):\n%s", file, diff)
	}
}

// CheckDocumentedCommands checks that every command line of the program in the documentation, in a code
// block or in backquotes, is valid: the command and its flags exist, and check returns nil. root is
// the directory of the repository, minimum the number of command lines that must be found.
func (p Program) CheckDocumentedCommands(t *testing.T, root string, minimum int, check func(*cobra.Command) error) {
	t.Helper()
	documents := []string{filepath.Join(root, "README.md")}
	for _, pattern := range []string{"docs/*.md", "examples/*.md", "examples/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, found...)
	}
	// a command line of the program up to a comment, a separator or three spaces
	command := regexp.MustCompile(`(?m)^[ #$]*(?:sudo )?` + p.Name + ` ([a-z][a-z-]*)((?: [^ #&|;>\n]+)*)`)
	// without flags it is a name
	inline := regexp.MustCompile("`(?:sudo )?" + p.Name + " ([a-z][a-z-]*)((?: [^ `]+)* -[^`]+)`")
	checked := 0
	for _, document := range documents {
		if strings.HasPrefix(filepath.Base(document), "reference") {
			continue // generated, with usage lines
		}
		content, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		for i, block := range strings.Split(string(content), "\n```") {
			pattern := command
			if i%2 == 0 {
				pattern = inline
			}
			for _, match := range pattern.FindAllStringSubmatch(block, -1) {
				checked++
				c, err := p.ParseLine(append([]string{match[1]}, strings.Fields(match[2])...))
				if err == nil {
					err = check(c)
				}
				if err != nil {
					t.Errorf("%s: %q: %v", filepath.Base(document), strings.TrimSpace(match[0]), err)
				}
			}
		}
	}
	if checked < minimum {
		t.Errorf("only %d commands were found", checked)
	}
}

// ReadmeTable returns the rows of the README's table with this heading: the first cell without
// backquotes, and the second cell.
func ReadmeTable(t *testing.T, readme, heading string) [][2]string {
	t.Helper()
	content, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(content), "| "+heading+" | |\n|---|---|\n")
	if !found {
		t.Fatalf("%s has no table %q", readme, heading)
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

// CheckReadmeCommands checks that the commands in the README's table with this heading exist, and that the table has
// at least minimum of them. The generated reference lists all commands.
func (p Program) CheckReadmeCommands(t *testing.T, readme, heading string, minimum int) {
	t.Helper()
	var existing []string
	for _, c := range cli.AvailableCommands(p.Root()) {
		existing = append(existing, strings.TrimSpace(strings.TrimPrefix(c.CommandPath(), p.Name)))
	}
	rows := ReadmeTable(t, readme, heading)
	for _, row := range rows {
		if !slices.Contains(existing, row[0]) {
			t.Errorf("%s lists the command %q, which does not exist", readme, row[0])
		}
	}
	if len(rows) < minimum {
		t.Errorf("%s lists only %d commands", readme, len(rows))
	}
}
