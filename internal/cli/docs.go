// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/schema"
)

// Docs contains the parts of a program's documentation that are not generated from its commands.
type Docs struct {
	ManSections       []Section                     // of every man page and of the reference
	ReferenceSections []Section                     // of the reference only
	ManUsage          func(flag *pflag.Flag) string // additions to a flag's usage; nil for none
	SeeAlso           []string                      // man pages of other programs, such as crio(8)
	Pages             []ManPage                     // further man pages
	Schemas           map[string]schema.Schema      // by file name
}

// NewDocsCommand returns the command with which packages and docs/ are built.
func NewDocsCommand(p *Printer, docs func() Docs) *cobra.Command {
	c := NewParentCommand("docs", "Generate the documentation", &cobra.Command{
		Use:   "man DIRECTORY",
		Short: "Write the man pages, dated with SOURCE_DATE_EPOCH",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			pages, err := ManPages(c.Root(), p.Program, docs())
			if err != nil {
				return err
			}
			return writeFiles(args[0], pages)
		},
	}, &cobra.Command{
		Use:   "markdown",
		Short: "Print the reference in Markdown",
		Args:  NoArgs,
		Run:   func(c *cobra.Command, _ []string) { writeReference(p.Out, c.Root(), docs()) },
	}, &cobra.Command{
		Use:   "schema DIRECTORY",
		Short: "Write the JSON Schemas of the documents",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			files := map[string]string{}
			for name, s := range docs().Schemas {
				var out bytes.Buffer
				if err := report.WriteJSON(&out, s); err != nil {
					return err
				}
				files[name] = out.String()
			}
			return writeFiles(args[0], files)
		},
	})
	c.Hidden = true
	return c
}

func writeFiles(dir string, files map[string]string) error {
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil { //nolint:gosec // public
			return report.Fail(report.Usage, "# use an existing directory", "writing documentation: %w", err)
		}
	}
	return nil
}

// documentedCommands returns the commands that the man pages and the reference describe: those that are not hidden,
// without the generated command completion.
func documentedCommands(root *cobra.Command) []*cobra.Command {
	return slices.DeleteFunc(AvailableCommands(root), func(c *cobra.Command) bool {
		return c.Name() == "completion" || c.HasParent() && c.Parent().Name() == "completion"
	})
}

// writeReference writes the reference in Markdown.
func writeReference(w io.Writer, root *cobra.Command, docs Docs) {
	fmt.Fprintf(w, "# Reference of %s\n\n"+
		"Generated from the program's commands by `make docs`; a test fails if it is stale. "+
		"The man pages have the same content.\n\n", root.Name())
	for _, c := range documentedCommands(root) {
		writeCommand(w, c)
	}
	fmt.Fprintf(w, "## Shell completion\n\nThe packages install the scripts for bash, zsh and fish. `%[1]s completion "+
		"SHELL` prints one, for example to load it in the current shell: `source <(%[1]s completion bash)`.\n\n", root.Name())
	for _, s := range slices.Concat(docs.ReferenceSections, []Section{ExitCodesSection(root, "Exit codes")},
		docs.ManSections) {
		fmt.Fprintf(w, "## %s\n\n%s\n", s.Title, s.Table())
	}
}

// writeCommand writes the description of a command in Markdown.
func writeCommand(w io.Writer, c *cobra.Command) {
	block := func(text string) string { return "```\n" + strings.TrimRight(text, "\n") + "\n```\n\n" }
	fmt.Fprintf(w, "## %s\n\n%s.\n\n%s", c.CommandPath(), c.Short, block(c.UseLine()))
	if c.Long != "" {
		fmt.Fprintf(w, "%s\n\n", c.Long)
	}
	if c.HasExample() {
		fmt.Fprintf(w, "Examples:\n\n%s", block(c.Example))
	}
	if c.HasAvailableSubCommands() {
		for _, sub := range documentedCommands(c)[1:] {
			if sub.Parent() == c {
				anchor := strings.ReplaceAll(sub.CommandPath(), " ", "-")
				fmt.Fprintf(w, "- [%s](#%s): %s\n", sub.CommandPath(), anchor, sub.Short)
			}
		}
		fmt.Fprintln(w)
	}
	if !c.HasParent() {
		fmt.Fprintf(w, "Options; all but `--version` are also options of every command:\n\n")
	} else if c.HasAvailableLocalFlags() {
		fmt.Fprintf(w, "Options:\n\n")
	}
	if c.HasAvailableLocalFlags() {
		fmt.Fprint(w, block(c.LocalFlags().FlagUsages()))
	}
	codes := lists.Map(ExitStatuses(c), func(exit report.ExitStatus) string { return strconv.Itoa(int(exit.Code)) })
	fmt.Fprintf(w, "[Exit codes](#exit-codes): %s\n\n", strings.Join(codes, ", "))
}

// Section is a part of the documentation that lists entries.
type Section struct {
	Title   string
	Text    string   // of man pages: paragraphs, indented tables and examples
	Columns []string // of the table
	Rows    [][]string

	flags []*pflag.Flag
	usage func(*pflag.Flag) string // additions to a flag's usage; nil for none
}

// Table returns the section as a Markdown table.
func (s Section) Table() string {
	var out strings.Builder
	escape := strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`)
	fmt.Fprintf(&out, "| %s |\n|%s\n", strings.Join(s.Columns, " | "), strings.Repeat("---|", len(s.Columns)))
	for _, row := range s.Rows {
		for _, cell := range row[:len(row)-1] {
			if cell != "" {
				cell = "`" + cell + "`"
			}
			fmt.Fprintf(&out, "| %s ", cell)
		}
		fmt.Fprintf(&out, "| %s |\n", escape.Replace(row[len(row)-1]))
	}
	return out.String()
}

// OutputVariables returns the rows of the environment variables that control the output.
func OutputVariables() [][]string {
	return [][]string{
		{"NO_COLOR", "if not empty, output on a terminal has no colors"},
		{"TERM", "with the value dumb, lines on a terminal are not rewritten"},
		{"JOURNAL_STREAM", "set by systemd if output goes to the journal: progress is logged there with fields, " +
			"see --log-format"},
		{"NOTIFY_SOCKET", "set by systemd for services of Type=notify: receives readiness, watchdog and status"},
	}
}
