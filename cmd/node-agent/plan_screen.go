package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// planScreen is the text output of a plan.
type planScreen struct {
	width    int  // columns; 0 for a pipe: lines are not wrapped
	complete bool // long lists are not abbreviated

	w io.Writer
}

const (
	maxListed    = 5  // entries of an abbreviated list
	targetColumn = 48 // maximum width of the column with targets
	originIndent = "             "
)

func (s planScreen) print(w io.Writer, document plan.Document) {
	s.w = w
	s.printOrigin(document)
	s.printf("\n")
	s.printItems(document.Counts())
	if document.Empty {
		s.title("This host is up to date: no changes needed")
	}
	if document.Network != nil {
		s.title("Network")
		for _, line := range document.Network.Description {
			s.hanging("  ", "    ", line)
		}
	}
	s.printActions(document.Actions())
	s.printMissing(document.MissingUnits)
	for _, group := range plan.Groups() {
		s.printGroup(group, document.Changes)
	}
	s.printKept(document.Kept)
	for _, section := range document.Sections() {
		s.printSection(section)
	}
	if len(document.NotPlanned) > 0 {
		s.title("Not planned")
	}
	for _, line := range document.NotPlanned {
		s.hanging("  ", "    ", line)
	}
	s.printf("\n")
	s.hanging("Plan: ", "  ", strings.Join(document.Counts(), ", "))
}

// printOrigin prints the node, the payload and the facts of the plan.
func (s planScreen) printOrigin(document plan.Document) {
	pool := ""
	if document.NodePool != "" {
		pool = " (NodePool " + document.NodePool + ")"
	}
	s.hanging("", "  ", "Plan for "+document.NodeName+pool)
	origin := document.Payload
	payload := origin.Summary
	switch origin.Source {
	case plan.FromSaved:
		payload += ", saved by the join of this host"
	case plan.FromServer, plan.FromFile:
		payload += ", from " + inputName(origin.Name)
	}
	s.hanging("  payload    ", originIndent, payload)
	if len(document.Overrides) > 0 {
		s.hanging("  overrides  ", originIndent, report.EscapeLine(strings.Join(document.Overrides, ", ")))
	}
	facts := document.Facts
	switch facts.Source {
	case plan.FactsFromFile:
		s.hanging("  facts      ", originIndent, inputName(facts.File)+": "+facts.Host)
	case plan.DefaultFacts:
		s.hanging("  facts      ", originIndent, "default, not of a real host: "+facts.Host)
	case plan.FactsOfThisHost:
		s.hanging("  facts      ", originIndent, "this host: "+facts.Host)
	}
}

// inputName returns the name of an input on one line.
func inputName(name string) string {
	if name == "-" {
		return "standard input"
	}
	return report.EscapeLine(name)
}

// printItems prints items beside each other. A line break is never inside an item.
func (s planScreen) printItems(items []string) {
	line := " "
	for i, item := range items {
		if i > 0 && s.width > 0 && len(line)+3+len(item) >= s.width {
			s.printf("%s\n", line)
			line = " "
		}
		if line != " " {
			line += "  "
		}
		line += " " + item
	}
	s.printf("%s\n", line)
}

// printActions prints the notes that require an action, each with its commands at column 0.
func (s planScreen) printActions(notes []plan.Note) {
	if len(notes) > 0 {
		s.title("Actions for you (not done by the agent)")
	}
	for _, note := range notes {
		s.hanging("  ", "    ", report.EscapeLine(note.Subject)+": "+note.Reason)
		for _, line := range note.Remedy.Lines() {
			if comment, isComment := strings.CutPrefix(line, "# "); isComment {
				s.hanging("# ", "# ", comment)
				continue
			}
			s.printf("%s\n", line)
		}
	}
}

func (s planScreen) printMissing(units []string) {
	if len(units) == 0 {
		return
	}
	s.title("Missing units (join --install-packages installs their packages)")
	for _, unit := range units {
		s.hanging("  ", "    ", report.EscapeLine(unit))
	}
}

// printSection prints notes. Entries of one rule are grouped if their reasons are equal.
func (s planScreen) printSection(section plan.Section) {
	notes := slices.Clone(section.Notes)
	s.title(fmt.Sprintf("%s (%d)", section.Title, len(notes)))
	for len(notes) > 0 {
		first := notes[0]
		var subjects []string
		notes = slices.DeleteFunc(notes, func(note plan.Note) bool {
			if note.Rule != first.Rule || note.Reason != first.Reason {
				return false
			}
			subjects = append(subjects, report.EscapeLine(note.Subject))
			return true
		})
		s.hanging("  "+first.Rule+": ", "      ", strings.Join(subjects, ", "))
		s.hanging("      ", "      ", first.Reason)
	}
}

func (s planScreen) title(text string) {
	s.printf("\n")
	s.hanging("", "  ", text)
}

// hanging prints a text after a label. On a terminal it wraps the text at words, and further lines begin
// with indent.
func (s planScreen) hanging(label, indent, text string) {
	for _, line := range report.WrapHanging(label, indent, text, max(s.width-1, 0)) {
		s.printf("%s\n", line)
	}
}

func (s planScreen) printf(format string, args ...any) { fmt.Fprintf(s.w, format, args...) }
