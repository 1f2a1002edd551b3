// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kinds"
	"github.com/hcp-node-agent/hcp-node-agent/internal/payload"
	"github.com/hcp-node-agent/hcp-node-agent/internal/preview"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// planScreen prints a plan on a page.
type planScreen struct {
	*report.Page
	complete bool // long lists are not abbreviated
}

const (
	maxListed    = 5  // entries of an abbreviated list
	targetColumn = 48 // maximum width of the column with targets
	originIndent = "             "
)

func (s planScreen) print(document preview.Document) {
	s.printOrigin(document)
	s.Printf("\n")
	s.printItems(document.Counts())
	if document.Empty {
		s.title("This host is up to date: no changes needed")
	}
	if document.Network != nil {
		s.printLines("Network", document.Network.Description)
		s.Findings(document.Network.Warnings)
	}
	s.printActions(document.Actions())
	if len(document.Connections) > 0 {
		s.title("Connections")
		s.Findings(slices.SortedStableFunc(slices.Values(document.Connections), report.CompareSeverity))
	}
	if len(document.Logins) > 0 {
		s.title("Logins")
		s.Findings(slices.SortedStableFunc(slices.Values(document.Logins), report.CompareSeverity))
	}
	if len(document.Overlaps) > 0 {
		s.title("Networks of the host that overlap those of the cluster")
		s.Findings(slices.SortedStableFunc(slices.Values(document.Overlaps), report.CompareSeverity))
	}
	s.printAdoption(document.Adoption)
	s.printUnpacked(document.Unpacked)
	s.printLines("Missing units (join --install-packages installs their packages)", document.MissingUnits)
	for _, group := range kinds.Groups() {
		s.printGroup(group, document.Changes)
	}
	s.printObsolete(document)
	s.printEffects(document)
	for _, section := range document.Sections() {
		s.printSection(section)
	}
	s.printLines("Not planned", document.NotPlanned)
	s.Printf("\n")
	s.Hanging("Plan: ", "  ", strings.Join(document.Counts(), ", "))
}

// printOrigin prints the node, the payload and the facts of the plan.
func (s planScreen) printOrigin(document preview.Document) {
	pool := ""
	if document.NodePool != "" {
		pool = " (NodePool " + document.NodePool + ")"
	}
	s.Hanging("", "  ", s.Title("Plan for "+document.NodeName+pool))
	origin := document.Payload
	text := origin.Summary
	switch origin.Source {
	case payload.KindSaved:
		text += ", saved by the join of this host"
	case payload.KindServer, payload.KindFile:
		text += ", from " + inputName(origin.Name)
	}
	s.Hanging("  payload    ", originIndent, text)
	switch software := document.Software; {
	case software != nil:
		s.Hanging("  release    ", originIndent, software.String()+", by OS image "+report.EscapeLine(software.Image))
	case document.SoftwareError != "":
		s.Hanging("  release    ", originIndent, s.Warn("unknown")+": "+report.EscapeLine(document.SoftwareError))
	}
	if len(document.Overrides) > 0 {
		s.Hanging("  overrides  ", originIndent, report.EscapeLine(strings.Join(document.Overrides, ", ")))
	}
	facts := document.Facts
	switch facts.Source {
	case preview.FactsFromFile:
		s.Hanging("  facts      ", originIndent, inputName(facts.File)+": "+facts.Host)
	case preview.DefaultFacts:
		s.Hanging("  facts      ", originIndent, "default, not of a real host: "+facts.Host)
	case preview.FactsOfThisHost:
		s.Hanging("  facts      ", originIndent, "this host: "+facts.Host)
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
		if i > 0 && s.Width > 0 && len(line)+3+len(item) >= s.Width {
			s.Printf("%s\n", line)
			line = " "
		}
		if line != " " {
			line += "  "
		}
		line += " " + item
	}
	s.Printf("%s\n", line)
}

// printActions prints the notes that require an action, each with its commands at column 0.
func (s planScreen) printActions(notes []preview.Note) {
	if len(notes) > 0 {
		s.title("Actions for you (not done by the agent)")
	}
	for _, note := range notes {
		s.Hanging("  "+s.Warn("!")+" ", "    ", report.EscapeLine(note.Subject)+": "+note.Reason)
		s.Remedy(note.Remedy)
	}
}

// printUnpacked prints the packages that are unpacked from the OS image.
func (s planScreen) printUnpacked(unpacked *preview.Unpacked) {
	if unpacked == nil {
		return
	}
	s.title(fmt.Sprintf("Software from the OS image (%d packages, %d MB to download)", len(unpacked.Packages),
		unpacked.Download/1e6))
	for _, name := range unpacked.Packages {
		s.Printf("  + %s\n", report.EscapeLine(name))
	}
}

// printLines prints a title and lines, or nothing if there are no lines.
func (s planScreen) printLines(title string, lines []string) {
	if len(lines) > 0 {
		s.title(title)
	}
	for _, line := range lines {
		s.Hanging("  ", "    ", report.EscapeLine(line))
	}
}

// printSection prints notes. Entries of one rule are grouped if their reasons are equal.
func (s planScreen) printSection(section preview.Section) {
	notes := slices.Clone(section.Notes)
	s.title(fmt.Sprintf("%s (%d)", section.Title, len(notes)))
	for len(notes) > 0 {
		first := notes[0]
		var subjects []string
		notes = slices.DeleteFunc(notes, func(note preview.Note) bool {
			if note.Rule != first.Rule || note.Reason != first.Reason {
				return false
			}
			subjects = append(subjects, report.EscapeLine(note.Subject))
			return true
		})
		s.Hanging("  ", "      ", strings.Join(subjects, ", ")+" ("+first.Rule+")")
		s.Hanging("      ", "      ", first.Reason)
	}
}

func (s planScreen) title(text string) {
	s.Printf("\n")
	s.Hanging("", "  ", s.Title(text))
}
