package manual

import (
	"fmt"
	"strings"
)

// Fish is the completion for fish, 3.0 or later.
func (t Tool) Fish() string {
	var out strings.Builder
	function := "__" + strings.ReplaceAll(t.Name, "-", "_")
	fmt.Fprintf(&out, "# fish completion for %s. Made by: %s completion fish\n\n", t.Name, t.Name)
	fmt.Fprintf(&out, "# The command line has this verb, of one word or two.\nfunction %s_is\n    set -l words (commandline -opc)\n", function)
	out.WriteString("    set -l last (math (count $argv) + 1)\n    test (count $words) -ge $last; and test \"$words[2..$last]\" = \"$argv\"\nend\n\n")
	fmt.Fprintf(&out, "# The command line has these words, and no other.\nfunction %s_only\n    set -l words (commandline -opc)\n    test \"$words[2..-1]\" = \"$argv\"\nend\n\n", function)
	fmt.Fprintf(&out, "complete -c %s -f\n", t.Name)
	for _, w := range t.words() {
		fmt.Fprintf(&out, "complete -c %s -n %s -a %s -d %s\n", t.Name, function+"_only", w.Name, fishQuote(w.Text))
	}
	for _, first := range t.firsts() {
		for _, v := range t.under(first) {
			fmt.Fprintf(&out, "complete -c %s -n %s -a %s -d %s\n", t.Name, fishQuote(function+"_only "+first), strings.TrimPrefix(v.Name, first+" "), fishQuote(v.Does))
		}
	}
	for _, v := range t.Verbs {
		when := fishQuote(function + "_is " + v.Name)
		for _, f := range v.Flags {
			short := ""
			if f.Short != "" {
				short = " -s " + f.Short
			}
			value := ""
			if f.Value != "" {
				value = " " + f.argument().fish()
			}
			fmt.Fprintf(&out, "complete -c %s -n %s%s -l %s%s -d %s\n", t.Name, when, short, f.Name, value, fishQuote(f.Does))
		}
		fmt.Fprintf(&out, "complete -c %s -n %s -s h -l help -d 'show help'\n", t.Name, when)
		if v.Takes != "" {
			fmt.Fprintf(&out, "complete -c %s -n %s %s\n", t.Name, when, strings.TrimPrefix(v.argument().fish(), "-r "))
		}
	}
	return out.String()
}

func (a argument) fish() string {
	switch {
	case len(a.choices) > 0 && a.list:
		return "-x -a " + fishQuote("(__fish_append , "+strings.Join(a.choices, " ")+")")
	case len(a.choices) > 0:
		return "-x -a " + fishQuote(strings.Join(a.choices, " "))
	case a.files:
		return "-r -F"
	case a.directories:
		return "-x -a '(__fish_complete_directories)'"
	case a.interfaces:
		return "-x -a '(__fish_print_interfaces)'"
	}
	return "-x"
}

// fishQuote makes one word of a text; in fish a backslash escapes inside quotes.
func fishQuote(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(text) + "'"
}
