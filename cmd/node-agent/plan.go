package main

import (
	"fmt"
	"io"

	"github.com/hcp-node-agent/hcp-node-agent/internal/bootstrap"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

func planVerb() verb {
	return verbWithDocument("plan", "show what a join would change; nothing is changed", bootstrap.Plan, sayPlan)
}

func sayPlan(w io.Writer, document bootstrap.PlanDocument) {
	fmt.Fprintf(w, "%s would join NodePool %s\n", document.NodeName, document.NodePool)
	groups := []struct {
		title string
		kinds []ledger.Kind
	}{
		{"files, directories and links", []ledger.Kind{ledger.File, ledger.Directory, ledger.Link, ledger.HardLink}},
		{"units", []ledger.Kind{ledger.Unit}},
		{"kernel", []ledger.Kind{ledger.Sysctl, ledger.Module}},
	}
	for _, group := range groups {
		sayChanges(w, group.title, group.kinds, document.Changes)
	}
	fmt.Fprintln(w, "\nnetwork")
	for _, line := range document.Network {
		fmt.Fprintf(w, "  %s\n", line)
	}
	if len(document.Notes) > 0 {
		fmt.Fprintln(w, "\nleft out, changed or added")
	}
	for _, note := range document.Notes {
		fmt.Fprintf(w, "  %s\n", note)
	}
	for _, missing := range document.Missing {
		fmt.Fprintf(w, "\nmissing: %s\n", missing)
	}
	if len(document.Changes) == 0 {
		fmt.Fprintln(w, "\nnothing of it is left to do")
	}
}

func sayChanges(w io.Writer, title string, kinds []ledger.Kind, changes []ledger.Pending) {
	first := true
	for _, change := range changes {
		for _, kind := range kinds {
			if change.Kind != kind {
				continue
			}
			if first {
				fmt.Fprintf(w, "\n%s\n", title)
				first = false
			}
			fmt.Fprintf(w, "  %s %s: %s -> %s\n", sign(change), change.Target, change.Now, change.Want)
		}
	}
}

func sign(change ledger.Pending) string {
	switch {
	case !change.Now.Present:
		return "+"
	case !change.Want.Present:
		return "-"
	}
	return "~"
}
