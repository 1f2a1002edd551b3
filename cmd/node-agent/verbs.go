package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// verb is one thing that the agent can be told to do.
type verb struct {
	name  string // one word, or two like "ticket create"
	does  string // one line for the list
	more  string // for its own help
	takes string // its argument: FILE, [FILE...] for any number, a choice like a|b; "" when it takes none
	// hidden verbs are for who builds a package; help does not list them.
	hidden bool
	// prepare binds the verb's flags and gives what runs it.
	prepare func(*pflag.FlagSet) action
}

type action func(ctx context.Context, flags *pflag.FlagSet, face *face) error

// verbs is the one list of them.
func verbs() []verb {
	return []verb{
		joinVerb(), planVerb(), preflightVerb(), statusVerb(), doctorVerb(), applyVerb(), leaveVerb(), runVerb(),
		ticketCreateVerb(), ticketShowVerb(), approveVerb(), nodeIPVerb(), uplinkNameVerb(), configShowVerb(), configValidateVerb(), completionVerb(), versionVerb(),
		docsManVerb(), docsMarkdownVerb(), docsSchemaVerb(),
	}
}

// shown are the verbs that people are told of.
func shown() []verb {
	return slices.DeleteFunc(verbs(), func(v verb) bool { return v.hidden })
}

// flags are all that the verb takes, those that every verb has first.
func (v verb) flags() (*pflag.FlagSet, *common, action) {
	flags := pflag.NewFlagSet(v.name, pflag.ContinueOnError)
	flags.SortFlags = false
	c := commonFlags(flags)
	return flags, c, v.prepare(flags)
}

// fits tells what is wrong with the number of arguments.
func (v verb) fits(flags *pflag.FlagSet) error {
	switch {
	case strings.HasSuffix(v.takes, "...]"):
	case v.takes != "" && flags.NArg() != 1:
		return fmt.Errorf("it takes one argument: %s", v.takes)
	case v.takes == "" && flags.NArg() > 0:
		return fmt.Errorf("%q is not a flag; %s takes no other arguments", flags.Arg(0), v.name)
	}
	return nil
}

func find(name string) (verb, bool) {
	for _, v := range verbs() {
		if v.name == name {
			return v, true
		}
	}
	return verb{}, false
}

// split takes the verb's name off a command line: two words where there is such
// a verb, else one.
func split(args []string) (name string, rest []string) {
	if len(args) > 1 {
		if _, known := find(args[0] + " " + args[1]); known {
			return args[0] + " " + args[1], args[2:]
		}
	}
	return args[0], args[1:]
}

// under lists the verbs of two words that begin with this one.
func under(word string) []verb {
	return slices.DeleteFunc(verbs(), func(v verb) bool { return !strings.HasPrefix(v.name, word+" ") })
}

func usage(w io.Writer) {
	fmt.Fprint(w, "hcp-node-agent turns a plain RHEL machine into a worker of an OpenShift Hosted Control Plane cluster\n\n")
	fmt.Fprint(w, "  hcp-node-agent join --user-data stub.ign\n\nverbs:\n")
	list(w, shown())
	fmt.Fprint(w, "\nsee: hcp-node-agent VERB --help\n\n", exitCodes())
}

func list(w io.Writer, verbs []verb) {
	for _, v := range verbs {
		fmt.Fprintf(w, "  %-16s %s\n", v.name, v.does)
	}
}

func (v verb) usage(w io.Writer, flags *pflag.FlagSet) {
	fmt.Fprintf(w, "hcp-node-agent %s: %s\n", v.name, v.does)
	if v.more != "" {
		fmt.Fprintf(w, "\n%s\n", strings.TrimSpace(v.more))
	}
	fmt.Fprintf(w, "\nflags:\n%s", flags.FlagUsages())
}
