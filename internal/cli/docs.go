// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cpuguy83/go-md2man/v2/md2man"
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/schema"
)

// Docs contains the parts of a program's documentation that are not generated from its commands.
type Docs struct {
	ManSections       []Section                     // of every man page and of the reference
	ReferenceSections []Section                     // of the reference only
	ManUsage          func(flag *pflag.Flag) string // additions to a flag's usage; nil for none
	Pages             map[string]string             // further man pages in Markdown, by file name
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
		RunE:  func(c *cobra.Command, _ []string) error { return writeReference(p.Out, c.Root(), docs()) },
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

// optionParagraph matches an option as cobra writes it: a paragraph with a tab
// before the usage, which man does not format.
var optionParagraph = regexp.MustCompile(`(?m)^(?:\.PP\n)?(\\fB-.*)\n\t`)

// ManPages returns the man pages by their file names: one of each command in section 8, and those
// in docs.
func ManPages(root *cobra.Command, program Program, docs Docs) (map[string]string, error) {
	const heading, seeAlso = ".SH", ".SH SEE ALSO\n"
	source := program.Name + " " + program.Version
	common := bytes.NewBufferString("% program 8\n")
	for _, s := range docs.ManSections {
		fmt.Fprintf(common, "# %s\n%s\n", strings.ToUpper(s.Title), s.Definitions())
	}
	_, rendered, _ := strings.Cut(string(md2man.Render(common.Bytes())), heading) // without the page header
	pages := map[string]string{}
	escapeUsage := strings.NewReplacer("*", `\*`, "<", `\<`)
	var date string
	for _, c := range AvailableCommands(root) {
		c.NonInheritedFlags().VisitAll(func(flag *pflag.Flag) {
			_, usage := pflag.UnquoteUsage(flag)
			flag.Usage = escapeUsage.Replace(usage)
			if docs.ManUsage != nil {
				flag.Usage += docs.ManUsage(flag)
			}
		})
		var page bytes.Buffer
		header := &doc.GenManHeader{Section: "8", Source: source, Manual: "System Administration"}
		if err := doc.GenMan(c, header, &page); err != nil {
			return nil, fmt.Errorf("generating the man page of %s: %w", c.CommandPath(), err)
		}
		date = header.Date.UTC().Format(time.DateOnly)
		text := strings.Replace(page.String(), header.Date.Format(`"Jan 2006"`), strconv.Quote(date), 1)
		text = optionParagraph.ReplaceAllString(text, ".TP\n$1\n")
		before, after, _ := strings.Cut(text, seeAlso)
		name := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".8"
		pages[name] = formatPage(before + heading + rendered + seeAlso + after)
	}
	for name, markdown := range docs.Pages {
		title, section, _ := strings.Cut(name, ".")
		header := fmt.Sprintf("%% %q %q %q %q \"File Formats\"\n", strings.ToUpper(title), section, date, source)
		pages[name] = formatPage(string(md2man.Render([]byte(header + markdown))))
	}
	return pages, nil
}

var (
	// Macros for the title and for the end of an example, after which groff enables hyphenation.
	hyphenationMacros = regexp.MustCompile(`(?m)^\.(TH .*|EE)$`)
	textLine          = regexp.MustCompile(`(?m)^[^.].*$`)
)

// formatPage returns a man page whose words are not hyphenated, and whose hyphens
// are minus signs: they can be pasted into a shell.
func formatPage(page string) string {
	page = hyphenationMacros.ReplaceAllString(page, "$0\n.nh\n.ad l")
	return textLine.ReplaceAllStringFunc(page, func(line string) string {
		return strings.ReplaceAll(strings.ReplaceAll(line, `\-`, "-"), "-", `\-`)
	})
}

// writeReference writes the reference in Markdown.
func writeReference(w io.Writer, root *cobra.Command, docs Docs) error {
	fmt.Fprintf(w, "# Reference of %s\n\n"+
		"Generated from the program's commands by `make docs`; a test fails if it is stale. "+
		"The man pages have the same content.\n\n", root.Name())
	link := func(file string) string {
		return "#" + strings.ReplaceAll(strings.TrimSuffix(file, ".md"), "_", "-")
	}
	for _, c := range AvailableCommands(root) {
		if err := doc.GenMarkdownCustom(c, w, link); err != nil {
			return fmt.Errorf("generating the reference of %s: %w", c.CommandPath(), err)
		}
	}
	for _, s := range slices.Concat(docs.ReferenceSections, docs.ManSections) {
		fmt.Fprintf(w, "## %s\n\n%s\n", s.Title, s.Table())
	}
	return nil
}

// Section is a part of the documentation that lists entries.
type Section struct {
	Title   string
	Columns []string // of the table
	Rows    [][]string
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

// Definitions returns the section as a Markdown definition list.
func (s Section) Definitions() string {
	var out strings.Builder
	escape := strings.NewReplacer("*", `\*`, "<", `\<`, "_", `\_`)
	for _, row := range s.Rows {
		fmt.Fprintf(&out, "**%s**\n: %s\n\n", escape.Replace(row[0]), escape.Replace(row[len(row)-1]))
	}
	return out.String()
}

// ExitCodes returns the section with the exit codes.
func ExitCodes() Section {
	exits := Section{Title: "Exit codes", Columns: []string{"code", "meaning"}}
	for _, exit := range report.ExitStatuses() {
		exits.Rows = append(exits.Rows, []string{strconv.Itoa(int(exit.Code)), exit.Meaning})
	}
	return exits
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
