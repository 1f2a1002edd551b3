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

// CheckManPages checks the man pages: there is one of each command except completion, and the further ones; groff and
// mandoc accept them without warnings; they have the form of man pages and at most 80 columns.
func (p Program) CheckManPages(t *testing.T, further ...string) {
	t.Helper()
	t.Setenv("SOURCE_DATE_EPOCH", "1795219200")
	dir := t.TempDir()
	if got := p.Exec(t, "", "docs", "man", dir); got.Code != report.Success || got.Out+got.Err != "" {
		t.Fatalf("%+v", got)
	}
	want := slices.Clone(further)
	for _, c := range cli.AvailableCommands(p.Root()) {
		if name := strings.ReplaceAll(c.CommandPath(), " ", "-"); !strings.Contains(name, "completion") {
			want = append(want, name+".8")
		}
	}
	slices.Sort(want)
	pages, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, page := range pages {
		names = append(names, filepath.Base(page))
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Fatalf("pages (-want +got):\n%s", diff)
	}
	for _, checker := range [][]string{
		{"groff", "-ww", "-mandoc", "-Tutf8", "-z"},
		{"mandoc", "-T", "lint", "-W", "warning"},
	} {
		if out := format(t, append(checker, pages...)...); out != "" {
			t.Errorf("%s:\n%s", checker[0], out)
		}
	}
	for _, page := range pages {
		for _, formatter := range [][]string{
			{"groff", "-mandoc", "-Tascii", "-P-c", "-rLL=80n", page},
			{"mandoc", "-T", "ascii", "-O", "width=80", page},
		} {
			if problem := findManProblem(filepath.Base(page), format(t, formatter...)); problem != "" {
				t.Errorf("%s formats %s with %s", formatter[0], filepath.Base(page), problem)
			}
		}
	}
}

// format runs a formatter of man pages, and returns its output without overstrikes.
func format(t *testing.T, command ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), command[0], command[1:]...).CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v (make deps installs what tests need)\n%s", command[0], err, out)
	}
	return regexp.MustCompile(".\b").ReplaceAllString(string(out), "")
}

// optionOfLibrary matches an option in the form of cobra's help: --name="value", --name[=false].
var optionOfLibrary = regexp.MustCompile(`(?m)^ +-.*(="|\[=(false|true|\d+)\])`)

// findManProblem returns what is wrong with a formatted page, or "".
func findManProblem(file, text string) string {
	const columns = 80
	name, number, _ := strings.Cut(strings.ToUpper(file), ".")
	if words := strings.Split(name, "-"); len(name) > 31 { // there is no space for more
		name = strings.Join(words[len(words)-2:], "-")
	}
	title := name + "(" + number + ")"
	lines := strings.Split(strings.Trim(text, "\n"), "\n")
	if head := regexp.MustCompile("^" + regexp.QuoteMeta(title) + " +HCP Nodes +" + regexp.QuoteMeta(title) + "$"); !head.
		MatchString(lines[0]) {
		return "the title line " + lines[0]
	}
	if foot := lines[len(lines)-1]; !regexp.MustCompile(`^\S.* +2026-11-2[01] +\S`).MatchString(foot) {
		return "the last line " + foot
	}
	for _, line := range lines {
		if len(line) > columns {
			return "a line of more than 80 columns: " + line
		}
	}
	if option := optionOfLibrary.FindString(text); option != "" {
		return "the option " + option
	}
	return ""
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
	continued := regexp.MustCompile(` *\\\n *`)
	word := regexp.MustCompile(`(?:'[^']*'|[^\s'])+`)
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
			for _, match := range pattern.FindAllStringSubmatch(continued.ReplaceAllString(block, " "), -1) {
				checked++
				words := []string{match[1]}
				for _, one := range word.FindAllString(match[2], -1) {
					words = append(words, strings.ReplaceAll(one, "'", ""))
				}
				c, err := p.ParseLine(words)
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
