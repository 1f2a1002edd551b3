package manual

import (
	"fmt"
	"slices"
	"strings"
)

// Markdown is the reference: all verbs, options, settings, exit codes, variables
// and files on one page.
func (t Tool) Markdown() string {
	var out strings.Builder
	fmt.Fprintf(&out, "# Reference\n\nMade from the program's own tables by `make docs`; a test fails when it is stale. The same is in the man pages.\n\n")
	fmt.Fprintf(&out, "%s\n\n", t.Description)
	out.WriteString("| verb | |\n|---|---|\n")
	for _, v := range t.Verbs {
		anchor := strings.ReplaceAll(v.Name, " ", "-")
		fmt.Fprintf(&out, "| [`%s`](#%s) | %s |\n", v.Name, anchor, cell(v.Does))
	}
	out.WriteString("\n## Options of every verb\n")
	every := t.every()
	table(&out, every)
	for _, v := range t.Verbs {
		t.markdownVerb(&out, v, every)
	}
	settings := t.settings()
	out.WriteString("\n## Settings\n\nOf `join`, `plan`, `preflight`, `status`, `doctor`, `run` and `config show`. A flag wins over the environment, that over drop-ins,\nthose over the file.\n\n" +
		"| flag | environment | file | default | |\n|---|---|---|---|---|\n")
	for _, f := range settings {
		fmt.Fprintf(&out, "| `--%s%s` | `%s` | `%s` | %s | %s |\n", f.Name, after(f.Value), f.Variable, f.Setting, cell(f.Default), cell(f.Does))
	}
	for _, part := range []struct {
		title, first string
		entries      []Entry
	}{{"Exit codes", "code", t.Exits}, {"Environment", "variable", t.Environment}, {"Files", "file", t.Files}} {
		fmt.Fprintf(&out, "\n## %s\n\n| %s | |\n|---|---|\n", part.title, part.first)
		for _, e := range part.entries {
			fmt.Fprintf(&out, "| `%s` | %s |\n", e.Name, cell(e.Text))
		}
	}
	return out.String()
}

func (t Tool) markdownVerb(out *strings.Builder, v Verb, every []Flag) {
	fmt.Fprintf(out, "\n## %s\n\n`%s %s [OPTION...]%s`: %s\n", v.Name, t.Name, v.Name, after(v.Takes), v.Does)
	for _, p := range paragraphs(v.More) {
		text := strings.Join(p.lines, "\n")
		if p.indent {
			text = "```text\n" + text + "\n```"
		}
		fmt.Fprintf(out, "\n%s\n", text)
	}
	settings := false
	var own []Flag
	for _, f := range v.Flags {
		switch {
		case f.Setting != "":
			settings = true
		case !slices.ContainsFunc(every, f.same):
			own = append(own, f)
		}
	}
	table(out, own)
	if settings {
		out.WriteString("\nIt takes all [settings](#settings) of a join.\n")
	}
}

func table(out *strings.Builder, flags []Flag) {
	if len(flags) > 0 {
		out.WriteString("\n| option | default | |\n|---|---|---|\n")
	}
	for _, f := range flags {
		short := ""
		if f.Short != "" {
			short = "-" + f.Short + ", "
		}
		fmt.Fprintf(out, "| `%s--%s%s` | %s | %s |\n", short, f.Name, after(f.Value), cell(f.Default), cell(f.Does))
	}
}

// every are the flags that all verbs have.
func (t Tool) every() []Flag {
	return slices.DeleteFunc(slices.Clone(t.Verbs[0].Flags), func(f Flag) bool {
		return slices.ContainsFunc(t.Verbs, func(v Verb) bool { return !slices.ContainsFunc(v.Flags, f.same) })
	})
}

func (f Flag) same(other Flag) bool { return f.Name == other.Name && f.Does == other.Does }

// settings are the flags that the configuration file has too, each once.
func (t Tool) settings() []Flag {
	var all []Flag
	seen := map[string]bool{}
	for _, v := range t.Verbs {
		for _, f := range v.Flags {
			if f.Setting != "" && !seen[f.Name] {
				seen[f.Name] = true
				all = append(all, f)
			}
		}
	}
	return all
}

func after(text string) string {
	if text == "" {
		return ""
	}
	return " " + text
}

// cell is a text in a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;", "*", `\*`).Replace(text)
}
