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
	takes string // what its one argument is; "" when it takes none
	// prepare binds the verb's flags and gives what runs it.
	prepare func(*pflag.FlagSet) action
}

type action func(ctx context.Context, flags *pflag.FlagSet, face *face) error

// verbs is the one list of them.
func verbs() []verb {
	return []verb{
		joinVerb(), planVerb(), preflightVerb(), statusVerb(), doctorVerb(), applyVerb(), leaveVerb(), runVerb(),
		ticketCreateVerb(), ticketShowVerb(), approveVerb(), nodeIPVerb(), uplinkNameVerb(), versionVerb(),
	}
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
	list(w, verbs())
	fmt.Fprint(w, "\nsee: hcp-node-agent VERB --help\n\n", exitCodes)
}

func list(w io.Writer, verbs []verb) {
	for _, v := range verbs {
		fmt.Fprintf(w, "  %-14s %s\n", v.name, v.does)
	}
}

const exitCodes = `exit codes:
  0 done   1 failed   2 usage or bad input   3 refused by a check, nothing changed   4 credential refused
  5 approval missing   6 network rolled back   7 reboot needed   8 drift found
`

func (v verb) usage(w io.Writer, flags *pflag.FlagSet) {
	fmt.Fprintf(w, "hcp-node-agent %s: %s\n", v.name, v.does)
	if v.more != "" {
		fmt.Fprintf(w, "\n%s\n", strings.TrimSpace(v.more))
	}
	fmt.Fprintf(w, "\nflags:\n%s", flags.FlagUsages())
}
