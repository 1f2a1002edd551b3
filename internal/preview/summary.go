// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"fmt"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/adapt"
)

// Note describes the decision about one entry of the payload.
type Note = adapt.Note

// Section contains the notes with one action.
type Section struct {
	Title string
	Notes []Note
}

// Actions returns the notes that require an action of the administrator.
func (d Document) Actions() []Note {
	return slices.DeleteFunc(slices.Clone(d.Notes), func(note Note) bool { return note.Remedy == "" })
}

// Sections returns the other notes by their action. Sections without notes are not included.
func (d Document) Sections() []Section {
	var sections []Section
	for _, one := range []struct {
		action adapt.Action
		title  string
	}{
		{adapt.Skip, "Skipped"},
		{adapt.Change, "Written differently than in the payload"},
		{adapt.Add, "Added to the payload"},
		{adapt.Report, "Notes"},
		{adapt.Unsupported, "Not supported"},
	} {
		notes := slices.DeleteFunc(slices.Clone(d.Notes),
			func(note Note) bool { return note.Action != one.action || note.Remedy != "" })
		if len(notes) > 0 {
			sections = append(sections, Section{Title: one.title, Notes: notes})
		}
	}
	return sections
}

// Counts returns the numbers of changes, skipped entries and actions, each as a phrase.
func (d Document) Counts() []string {
	changes := map[Action]int{}
	for _, change := range d.Changes {
		changes[change.Action]++
	}
	if d.Upgrade {
		changes[ActionRemove] += len(d.Obsolete)
	}
	skipped := 0
	for _, note := range d.Notes {
		if note.Action == adapt.Skip {
			skipped++
		}
	}
	actions := "1 action for you"
	if n := len(d.Actions()); n != 1 {
		actions = fmt.Sprintf("%d actions for you", n)
	}
	return []string{
		fmt.Sprintf("%d to add", changes[ActionAdd]),
		fmt.Sprintf("%d to change", changes[ActionChange]+changes[ActionAttributes]),
		fmt.Sprintf("%d to remove", changes[ActionRemove]),
		fmt.Sprintf("%d unchanged", d.Unchanged),
		fmt.Sprintf("%d skipped", skipped),
		actions,
	}
}
