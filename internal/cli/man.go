// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manual is the name of the manual in the title line of a page. It is short: between two names of a long
// command, 80 columns leave little space.
const manual = "HCP Nodes"

// ManPages returns the man pages by their file names: one of each documented command in section 8, and those in docs.
func ManPages(root *cobra.Command, program Program, docs Docs) (map[string]string, error) {
	date, err := manDate()
	if err != nil {
		return nil, err
	}
	pages := map[string]string{}
	for _, c := range documentedCommands(root) {
		page := commandPage(c, docs)
		pages[page.Name+".8"] = page.render(date, program.Version)
	}
	for _, page := range docs.Pages {
		pages[page.Name+"."+page.Number] = page.render(date, program.Version)
	}
	return pages, nil
}

// manDate returns the date of the pages: that of SOURCE_DATE_EPOCH, else the current date.
func manDate() (string, error) {
	now := time.Now()
	if epoch := os.Getenv("SOURCE_DATE_EPOCH"); epoch != "" {
		seconds, err := strconv.ParseInt(epoch, 10, 64)
		if err != nil {
			return "", fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
		}
		now = time.Unix(seconds, 0)
	}
	return now.UTC().Format(time.DateOnly), nil
}

// titleOf returns the title of a page. A long one has only the words of the command: the title line and the last line
// have 80 columns.
func titleOf(name string) string {
	const maxTitle = 31
	if words := strings.Split(name, "-"); len(name) > maxTitle {
		name = strings.Join(words[len(words)-2:], "-")
	}
	return strings.ToUpper(name)
}

// ManPage is a man page.
type ManPage struct {
	Name, Number string
	Summary      string
	Sections     []Section
	SeeAlso      []string // such as crio(8)
}

// commandPage returns the page of a command.
func commandPage(c *cobra.Command, docs Docs) ManPage {
	page := ManPage{Name: pageName(c), Number: "8", Summary: c.Short, SeeAlso: slices.Clone(docs.SeeAlso)}
	page.Sections = []Section{
		{Title: "Synopsis", Text: synopsis(c)},
		{Title: "Description", Text: cmp.Or(c.Long, c.Short+".")},
		{Title: "Options", flags: flagsOf(c.NonInheritedFlags()), usage: docs.ManUsage},
		{Title: "Global options", flags: flagsOf(c.InheritedFlags())},
	}
	commands := Section{Title: "Commands"}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			commands.Rows = append(commands.Rows, []string{sub.Name(), sub.Short})
		}
	}
	page.Sections = append(page.Sections, commands, ExitCodesSection(c, "Exit status"))
	page.Sections = append(page.Sections, docs.ManSections...)
	page.Sections = append(page.Sections, Section{Title: "Examples", Text: c.Example})
	for _, related := range relatedCommands(c) {
		page.SeeAlso = append(page.SeeAlso, pageName(related)+"(8)")
	}
	return page
}

func pageName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// synopsis returns the synopsis of a command.
func synopsis(c *cobra.Command) string {
	_, arguments, _ := strings.Cut(c.Use, " ")
	if arguments != "COMMAND" {
		arguments = strings.TrimSpace("[OPTION]... " + arguments)
	}
	return c.CommandPath() + " " + arguments
}

// relatedCommands returns the parent, the subcommands, and the commands in the same group of the help.
func relatedCommands(c *cobra.Command) []*cobra.Command {
	related := c.Commands()
	if c.HasParent() {
		for _, sibling := range c.Parent().Commands() {
			if sibling != c && sibling.GroupID == c.GroupID {
				related = append(related, sibling)
			}
		}
		related = append(related, c.Parent())
	}
	documented := documentedCommands(c.Root())
	return slices.DeleteFunc(slices.Clone(related), func(one *cobra.Command) bool {
		return !slices.Contains(documented, one)
	})
}

func flagsOf(set *pflag.FlagSet) []*pflag.Flag {
	var flags []*pflag.Flag
	set.VisitAll(func(flag *pflag.Flag) {
		if !flag.Hidden {
			flags = append(flags, flag)
		}
	})
	return flags
}

// render returns the page in the macros of man(7).
func (m ManPage) render(date, version string) string {
	p := &roff{}
	p.request("TH", titleOf(m.Name), m.Number, date, version, manual)
	p.restoreLayout()
	p.request("SH", "NAME")
	p.line(escapeRoff(m.Name) + ` \- ` + escapeRoff(m.Summary))
	for _, s := range m.Sections {
		if s.Text == "" && len(s.Rows)+len(s.flags) == 0 {
			continue
		}
		p.request("SH", strings.ToUpper(s.Title))
		p.text(s.Text)
		for _, row := range s.Rows {
			p.item(bold(row[0]), escapeRoff(row[len(row)-1]))
		}
		for _, flag := range s.flags {
			p.flag(flag, s.usage)
		}
	}
	slices.Sort(m.SeeAlso)
	p.request("SH", "SEE ALSO")
	for i, reference := range m.SeeAlso {
		name, number, _ := strings.Cut(reference, "(")
		end := ","
		if i == len(m.SeeAlso)-1 {
			end = ""
		}
		p.line(bold(name) + "(" + number + end)
	}
	return p.String()
}

// roff builds text in the macros of man(7).
type roff struct{ strings.Builder }

func (p *roff) line(text string) { fmt.Fprintln(p, text) }

func (p *roff) request(macro string, arguments ...string) {
	for _, argument := range arguments {
		macro += ` "` + argument + `"`
	}
	p.line("." + macro)
}

// restoreLayout disables hyphenation and justification, so that what is pasted from a page is valid. groff enables
// them at the title and at the end of each example.
func (p *roff) restoreLayout() { p.line(".nh\n.ad l") }

func (p *roff) item(tag, text string) {
	p.line(".TP\n" + tag)
	p.line(text)
}

// flag adds the description of a flag in the form of man pages: -o, --output=FORMAT. more returns what is
// added to its usage; it can be nil.
func (p *roff) flag(flag *pflag.Flag, more func(*pflag.Flag) string) {
	value, _ := pflag.UnquoteUsage(flag)
	tag := bold("--" + flag.Name)
	if flag.Shorthand != "" {
		tag = bold("-"+flag.Shorthand) + ", " + tag
	}
	switch {
	case value == "":
	case flag.NoOptDefVal != "":
		tag += "[=" + italic(value) + "]"
	default:
		tag += "=" + italic(value)
	}
	words := strings.SplitN(flag.Usage, "`", 3) // the value is between backquotes
	usage := escapeRoff(words[0])
	if len(words) == 3 {
		usage += italic(words[1]) + escapeRoff(words[2])
	}
	if !slices.Contains([]string{"", "0", "0s", "false", "[]"}, flag.DefValue) {
		usage += escapeRoff(" (default: " + flag.DefValue + ")")
	}
	if more != nil {
		usage += escapeRoff(more(flag))
	}
	p.item(tag, usage)
}

// definitionLine matches a line of an indented table: a term, at least two spaces, and its definition.
var definitionLine = regexp.MustCompile(`^( +)(\S+(?: \S+)*)  +(\S.*)$`)

// indentation returns the number of spaces at the start of a line.
func indentation(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// text adds paragraphs, which are separated by empty lines. An indented paragraph is a table of definitions or an
// example.
func (p *roff) text(text string) {
	for i, block := range strings.Split(strings.Trim(text, "\n"), "\n\n") {
		lines := strings.Split(block, "\n")
		isTable := definitionLine.MatchString(lines[0])
		if i > 0 && !isTable {
			p.line(".PP")
		}
		switch {
		case block == "":
		case isTable:
			p.definitions(lines)
		case strings.HasPrefix(block, " "):
			p.example(lines)
		default:
			p.line(escapeRoff(block))
		}
	}
}

// definitions adds the items of a table. A line that is indented further continues the definition before it.
func (p *roff) definitions(lines []string) {
	width := indentation(lines[0])
	for _, line := range lines {
		if match := definitionLine.FindStringSubmatch(line); match != nil && len(match[1]) == width {
			p.item(bold(match[2]), escapeRoff(match[3]))
			continue
		}
		p.line(escapeRoff(strings.TrimSpace(line)))
	}
}

// example adds lines that are not filled.
func (p *roff) example(lines []string) {
	width := indentation(lines[0])
	p.line(".EX")
	for _, line := range lines {
		p.line(escapeRoff(strings.TrimRight(line[min(width, len(line)):], " ")))
	}
	p.line(".EE")
	p.restoreLayout()
}

func bold(text string) string { return `\fB` + escapeRoff(text) + `\fR` }

func italic(text string) string { return `\fI` + escapeRoff(text) + `\fR` }

// escapeRoff returns text that is printed as it is: an unescaped - is a hyphen, and unescaped quotes are typographic.
func escapeRoff(text string) string {
	escaped := strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`,
		`"`, `\(dq`).Replace(text)
	return strings.ReplaceAll(regexp.MustCompile(`(?m)^\.`).ReplaceAllString(escaped, `\&.`), "\n\n", "\n")
}
