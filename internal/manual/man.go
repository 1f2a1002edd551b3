package manual

import (
	"fmt"
	"strings"
)

// Pages are the man pages by their files' names: one of the program and one of
// each verb, of section 8 (system administration), and one of the configuration
// file, of section 5 (file formats).
func (t Tool) Pages() map[string]string {
	pages := map[string]string{t.Name + ".8": t.page(), t.configurationPage() + ".5": t.configuration()}
	for _, v := range t.Verbs {
		pages[t.pageName(v.Name)+".8"] = t.verbPage(v)
	}
	return pages
}

func (t Tool) pageName(verb string) string { return t.Name + "-" + strings.ReplaceAll(verb, " ", "-") }

func (t Tool) page() string {
	var r roff
	r.begin(t, administration, t.Name, t.Does)
	r.section("SYNOPSIS")
	r.synopsis(t.Name, `\fIVERB\fR [\fIOPTION\fR ...]`)
	r.section("DESCRIPTION")
	r.prose(t.Description)
	r.section("VERBS")
	for _, v := range t.Verbs {
		r.item(bold(v.Name)+roffTakes(v), sentence(v.Does)+" See "+t.pageName(v.Name)+"(8).")
	}
	r.section("EXAMPLES")
	r.prose("  " + t.Example)
	r.ending(t)
	see := []reference{{t.configurationPage(), formats}}
	for _, v := range t.Verbs {
		see = append(see, reference{t.pageName(v.Name), administration})
	}
	r.see(see...)
	return r.String()
}

func (t Tool) verbPage(v Verb) string {
	var r roff
	r.begin(t, administration, t.pageName(v.Name), v.Does)
	r.section("SYNOPSIS")
	r.synopsis(t.Name+" "+v.Name, "[\\fIOPTION\\fR ...]"+roffTakes(v))
	r.section("DESCRIPTION")
	r.prose(sentence(v.Does) + "\n\n" + v.More)
	r.section("OPTIONS")
	settings := false
	for _, f := range v.Flags {
		if settings = settings || f.Setting != ""; f.Setting == "" {
			r.item(option(f), described(f))
		}
	}
	r.item(bold("-h")+", "+bold("--help"), "Show help, and do nothing.")
	if settings {
		r.section("SETTINGS")
		r.prose("Each can also be given by an environment variable or in the configuration file, by the names in brackets; " +
			"see " + t.configurationPage() + "(5).")
	}
	for _, f := range v.Flags {
		if f.Setting != "" {
			r.item(option(f), described(f)+" ["+f.Variable+", "+f.Setting+"]")
		}
	}
	r.ending(t)
	see := []reference{{t.Name, administration}}
	if settings {
		see = append(see, reference{t.configurationPage(), formats})
	}
	r.see(see...)
	return r.String()
}

func roffTakes(v Verb) string {
	if v.Takes == "" {
		return ""
	}
	return ` \fI` + escape(v.Takes) + `\fR`
}

// described is what a flag does, and what it is when it is not given.
func described(f Flag) string {
	text := sentence(f.Does)
	if f.Default != "" {
		text += fmt.Sprintf(" Default: %s.", f.Default)
	}
	return text
}

// option is a flag as a page shows it.
func option(f Flag) string {
	text := bold("--" + f.Name)
	if f.Short != "" {
		text = bold("-"+f.Short) + ", " + text
	}
	if f.Value != "" {
		text += " \\fI" + escape(f.Value) + "\\fR"
	}
	return text
}

// ending is what every page has: scripts act on it.
func (r *roff) ending(t Tool) {
	r.section("EXIT STATUS")
	for _, e := range t.Exits {
		r.item(bold(e.Name), sentence(e.Text))
	}
	r.section("ENVIRONMENT")
	for _, e := range t.Environment {
		r.item(bold(e.Name), sentence(e.Text))
	}
	r.section("FILES")
	for _, e := range t.Files {
		r.item("\\fI"+escape(e.Name)+"\\fR", sentence(e.Text))
	}
}
