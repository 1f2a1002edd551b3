package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/cpuguy83/go-md2man/v2/md2man"
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// NewDocsCommand returns the command with which packages and docs/ are built.
func NewDocsCommand(p *Printer) *cobra.Command {
	c := NewParentCommand("docs", "Generate the documentation", &cobra.Command{
		Use:   "man DIRECTORY",
		Short: "Write the man pages, with the date of SOURCE_DATE_EPOCH",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			pages, err := manPages(c.Root())
			if err != nil {
				return err
			}
			return writeFiles(args[0], pages)
		},
	}, &cobra.Command{
		Use:   "markdown",
		Short: "Print the reference in Markdown",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return writeReference(p.Out, c.Root()) },
	}, &cobra.Command{
		Use:   "schema DIRECTORY",
		Short: "Write the JSON Schemas of the documents and the configuration",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			files := map[string]string{}
			for name, s := range schemas() {
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
			return report.Fail(report.Usage, "# name an existing directory", "writing documentation: %w", err)
		}
	}
	return nil
}

// AvailableCommands returns c and the commands below it that are not hidden.
func AvailableCommands(c *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			all = append(all, AvailableCommands(sub)...)
		}
	}
	return all
}

// optionParagraph matches an option as cobra writes it: a paragraph with a tab
// before the usage, which man does not format.
var optionParagraph = regexp.MustCompile(`(?m)^(?:\.PP\n)?(\\fB-.*)\n\t`)

// manPages returns the man pages by their file names: one of each command in
// section 8, and one of the configuration file in section 5.
func manPages(root *cobra.Command) (map[string]string, error) {
	const heading, seeAlso = ".SH", ".SH SEE ALSO\n"
	source := programName + " " + version
	common := bytes.NewBufferString("% program 8\n")
	for _, s := range manSections() {
		fmt.Fprintf(common, "# %s\n%s\n", strings.ToUpper(s.Title), s.definitions())
	}
	_, rendered, _ := strings.Cut(string(md2man.Render(common.Bytes())), heading) // without the page header
	pages := map[string]string{}
	var date string
	for _, c := range AvailableCommands(root) {
		c.NonInheritedFlags().VisitAll(func(flag *pflag.Flag) { flag.Usage = manUsage(c, flag) })
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
	title := strings.ToUpper(programName) + "-CONFIG"
	text := fmt.Sprintf("%% %q \"5\" %q %q \"File Formats\"\n%s", title, date, source, configurationPage())
	pages[programName+"-config.5"] = formatPage(string(md2man.Render([]byte(text))))
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

// manUsage returns the usage of a flag as Markdown, for a setting with its other
// names.
func manUsage(c *cobra.Command, flag *pflag.Flag) string {
	_, usage := pflag.UnquoteUsage(flag)
	usage = strings.NewReplacer("*", `\*`, "<", `\<`).Replace(usage)
	if key := config.Keys()[flag.Name]; key != "" && c.Flags().Lookup("until") != nil {
		usage += fmt.Sprintf(" [%s, %s]", config.Variable(flag.Name), key)
	}
	return usage
}

// writeReference writes docs/reference.md.
func writeReference(w io.Writer, root *cobra.Command) error {
	fmt.Fprint(w, "# Reference\n\nGenerated from the program's commands by `make docs`; a test fails if it is stale. "+
		"The man pages have the same content.\n\n")
	link := func(file string) string {
		return "#" + strings.ReplaceAll(strings.TrimSuffix(file, ".md"), "_", "-")
	}
	for _, c := range AvailableCommands(root) {
		if err := doc.GenMarkdownCustom(c, w, link); err != nil {
			return fmt.Errorf("generating the reference of %s: %w", c.CommandPath(), err)
		}
	}
	for _, s := range append([]Section{settingsSection()}, manSections()...) {
		fmt.Fprintf(w, "## %s\n\n%s\n", s.Title, s.table())
	}
	return nil
}
