// Package manual documents the program, from one value: man pages, a reference
// in Markdown, and completions for bash, zsh and fish. Whoever adds a verb or a
// flag to the program's table has added it to all of them.
package manual

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// Tool is all that there is to tell of the program.
type Tool struct {
	Name        string // of the program
	Does        string // one line
	Description string
	Example     string // of a command line
	Verbs       []Verb
	Exits       []Entry
	Environment []Entry
	Files       []Entry
	Version     string
	Date        string // of the pages, as 2006-01-02; "" for none

	Configuration Configuration
}

// Entry is a thing and what it is.
type Entry struct {
	Name, Text string
	Settings   bool // of a file: it holds settings
}

// Verb is one thing that the program can be told to do.
type Verb struct {
	Name  string // one word, or two like "ticket create"
	Does  string // one line
	More  string // paragraphs; lines that begin with two spaces stay as they are
	Takes string // its arguments: FILE, [FILE...], or a choice like a|b; "" for none
	Flags []Flag
}

// Flag is an option of a verb.
type Flag struct {
	Name, Short string
	Value       string   // what its value is called; "" when it takes none
	Does        string   // what it does
	Default     string   // "" for none
	Choices     []string // all values that it can have; nil when they cannot be told
	List        bool     // several values, separated by commas
	Setting     string   // its name in the configuration file; "" when it is not there
	Variable    string   // its environment variable; "" for none
}

const choices = "choices"

// Choices notes which values a flag can have, for completions.
func Choices(flags *pflag.FlagSet, name string, values ...string) {
	flags.Lookup(name).Annotations = map[string][]string{choices: values}
}

// Flags are those of a set, in its order.
func Flags(set *pflag.FlagSet) []Flag {
	var all []Flag
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, does := pflag.UnquoteUsage(f)
		flag := Flag{Name: f.Name, Short: f.Shorthand, Value: value, Does: does, Choices: f.Annotations[choices]}
		switch f.Value.Type() {
		case "bool":
			flag.Value = ""
		case "stringSlice":
			flag.List = true
		case "stringArray":
		default:
			if f.DefValue != "" && f.DefValue != "0s" {
				flag.Default = f.DefValue
			}
		}
		all = append(all, flag)
	})
	return all
}

// argument is what a value or an argument is, as far as a shell can complete it.
type argument struct {
	files, directories, interfaces bool
	choices                        []string
	list                           bool
}

func (f Flag) argument() argument {
	a := called(f.Value)
	a.choices, a.list = f.Choices, f.List
	return a
}

// argument is that of the verb itself.
func (v Verb) argument() argument {
	if strings.Contains(v.Takes, "|") {
		return argument{choices: strings.Split(v.Takes, "|")}
	}
	return called(strings.Trim(v.Takes, "[]."))
}

// called tells what a value is from how help calls it.
func called(name string) argument {
	return argument{
		files:       slices.Contains([]string{"FILE", "KUBECONFIG"}, name),
		directories: slices.Contains([]string{"DIR", "DIRECTORY"}, name),
		interfaces:  name == "INTERFACE",
	}
}

// words are the verbs' first words, each once, with what it does.
func (t Tool) words() []Entry {
	var all []Entry
	for _, v := range t.Verbs {
		word, _, two := strings.Cut(v.Name, " ")
		does := v.Does
		if two {
			does = strings.Join(t.seconds(word), ", ")
		}
		if !slices.ContainsFunc(all, func(e Entry) bool { return e.Name == word }) {
			all = append(all, Entry{Name: word, Text: does})
		}
	}
	return append(all, Entry{Name: "help", Text: "list the verbs"})
}

// seconds are the second words after this first one.
func (t Tool) seconds(first string) []string {
	var all []string
	for _, v := range t.under(first) {
		all = append(all, strings.TrimPrefix(v.Name, first+" "))
	}
	return all
}

func (t Tool) under(first string) []Verb {
	return slices.DeleteFunc(slices.Clone(t.Verbs), func(v Verb) bool { return !strings.HasPrefix(v.Name, first+" ") })
}

// firsts are the first words that need a second.
func (t Tool) firsts() []string {
	var all []string
	for _, v := range t.Verbs {
		if word, _, two := strings.Cut(v.Name, " "); two && !slices.Contains(all, word) {
			all = append(all, word)
		}
	}
	return all
}
