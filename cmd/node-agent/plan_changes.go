// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hcp-node-agent/hcp-node-agent/internal/effects"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kinds"
	"github.com/hcp-node-agent/hcp-node-agent/internal/preview"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// printGroup prints the changes of a group. Additions are last, because only they are abbreviated.
func (s planScreen) printGroup(group kinds.Group, all []preview.PlannedChange) {
	changes := slices.DeleteFunc(slices.Clone(all), func(c preview.PlannedChange) bool { return c.Group != group })
	if len(changes) == 0 {
		return
	}
	order := []preview.Action{preview.ActionRemove, preview.ActionChange, preview.ActionAttributes, preview.ActionAdd}
	slices.SortStableFunc(changes, func(a, b preview.PlannedChange) int {
		return cmp.Compare(slices.Index(order, a.Action), slices.Index(order, b.Action))
	})
	s.title(fmt.Sprintf("%s (%s)", groupTitle(group), countActions(changes)))
	additions := slices.IndexFunc(changes, func(c preview.PlannedChange) bool { return c.Action == preview.ActionAdd })
	shown := changes
	if additions >= 0 {
		shown = changes[:s.listed(len(changes), additions)]
	}
	column := 0
	for _, change := range shown {
		column = max(column, min(utf8.RuneCountInString(report.EscapeLine(change.Target)), targetColumn))
	}
	for _, change := range shown {
		s.printChange(change, column)
	}
	s.printRest(len(changes) - len(shown))
}

// listed returns the number of entries of a list that are printed: all, or maxListed but no fewer than
// atLeast. A rest of one entry is printed.
func (s planScreen) listed(n, atLeast int) int {
	limit := max(maxListed, atLeast)
	if s.complete || n <= limit+1 {
		return n
	}
	return limit
}

func (s planScreen) printRest(n int) {
	if n > 0 {
		s.Printf("    and %d more (-v lists all)\n", n)
	}
}

func groupTitle(group kinds.Group) string {
	if group == kinds.GroupFiles {
		return "Files, directories and links"
	}
	return strings.ToUpper(string(group[:1])) + string(group[1:])
}

// printChange prints one change, with its target in a column of this width.
func (s planScreen) printChange(change preview.PlannedChange, column int) {
	text := change.Describe()
	if change.Reason != "payload" {
		text += " (" + change.Reason + ")"
	}
	target := fmt.Sprintf("%-*s", column, report.EscapeLine(change.Target))
	label := "  " + s.sign(change.Action) + " " + target + "  "
	if s.Width > 0 && utf8.RuneCountInString("  + "+target+"  "+text) >= s.Width {
		s.Printf("%s\n", strings.TrimRight(label, " "))
		label = strings.Repeat(" ", 6)
	}
	s.Hanging(label, "      ", text)
	for line := range strings.Lines(change.Diff) {
		s.Printf("      %s\n", strings.TrimSuffix(line, "\n"))
	}
}

// countActions returns the number of changes for each action.
func countActions(changes []preview.PlannedChange) string {
	number := map[preview.Action]int{}
	for _, change := range changes {
		number[change.Action]++
	}
	var words []string
	for _, one := range []struct {
		action preview.Action
		word   string
	}{
		{preview.ActionAdd, "to add"},
		{preview.ActionChange, "to change"},
		{preview.ActionAttributes, "with other attributes"},
		{preview.ActionRemove, "to remove"},
	} {
		if n := number[one.action]; n > 0 {
			words = append(words, fmt.Sprintf("%d %s", n, one.word))
		}
	}
	return strings.Join(words, ", ")
}

// sign returns + for an added object, - for a removed one, = for one of which only the owner or
// mode changes, and ~ for any other change.
func (s planScreen) sign(action preview.Action) string {
	switch action {
	case preview.ActionAdd:
		return s.Good("+")
	case preview.ActionRemove:
		return s.Bad("-")
	case preview.ActionAttributes:
		return s.Warn("=")
	case preview.ActionChange:
	}
	return s.Warn("~")
}

// printObsolete prints the objects that are no longer in the payload.
func (s planScreen) printObsolete(document preview.Document) {
	obsolete := document.Obsolete
	if len(obsolete) == 0 {
		return
	}
	fate, prefix := "kept until leave", "  "
	if document.Upgrade {
		fate, prefix = "reverted to the state before the join", "  "+s.Bad("-")+" "
	}
	s.title(fmt.Sprintf("No longer in the payload (%d, %s)", len(obsolete), fate))
	shown := s.listed(len(obsolete), 0)
	for _, object := range obsolete[:shown] {
		s.Printf("%s%s %s\n", prefix, object.Kind, report.EscapeLine(object.Target))
	}
	s.printRest(len(obsolete) - shown)
}

// printEffects prints how the changes take effect. Changes that require nothing are counted.
func (s planScreen) printEffects(document preview.Document) {
	if len(document.Effects) == 0 {
		return
	}
	drain := "the node is not drained"
	if document.Effects.NeedsDrain() {
		drain = "the node is drained"
	}
	title := "Join"
	if document.Upgrade {
		title = "Upgrade"
	}
	s.title(title + " (" + drain + ")")
	type group struct{ action, reason string }
	targets := map[group][]string{}
	var order []group
	nothing := 0
	for _, effect := range document.Effects {
		if effect.Action == effects.Nothing && !effect.Drain {
			nothing++
			continue
		}
		key := group{effect.String(), effect.Reason}
		if targets[key] == nil {
			order = append(order, key)
		}
		targets[key] = append(targets[key], report.EscapeLine(effect.Target))
	}
	for _, key := range order {
		s.Hanging("  "+key.action+": ", "      ", strings.Join(targets[key], ", "))
		s.Hanging("      ", "      ", key.reason)
	}
	s.Printf("  %d of %d changes require no restart\n", nothing, len(document.Effects))
}
