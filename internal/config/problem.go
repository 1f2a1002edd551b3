package config

import (
	"fmt"
	"strings"
)

// Problem is one thing that is wrong with a configuration, and where.
type Problem struct {
	Key     string `json:"key,omitempty"`  // as the file has it
	File    string `json:"file,omitempty"` // "" where it comes from the environment or a flag
	Line    int    `json:"line,omitempty"` // from 1
	Message string `json:"message"`        // one sentence, without values that are secrets
	Remedy  string `json:"remedy,omitempty"`
}

// String returns FILE:LINE: MESSAGE, the format that editors parse.
func (p Problem) String() string {
	switch {
	case p.File == "":
		return p.Message
	case p.Line == 0:
		return p.File + ": " + p.Message
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Message)
}

// inWords are problems as one sentence.
func inWords(problems []Problem) string {
	texts := make([]string, 0, len(problems))
	for _, p := range problems {
		texts = append(texts, p.String())
	}
	return strings.Join(texts, "; ")
}

// Origin is where the value of a setting comes from.
type Origin struct {
	From  From   `json:"from"`
	Place string `json:"place,omitempty"` // FILE:LINE, the variable, or the flag
}

// String is the place, as nothing says more where there is one.
func (o Origin) String() string {
	switch {
	case o.Place == "":
		return string(o.From)
	case o.From == FromTicket:
		return "ticket " + o.Place
	}
	return o.Place
}

// From is a kind of source.
type From string

// The kinds of sources, each winning over those before it, but for a ticket: it
// adds to the labels and taints of the others.
const (
	FromDefault     From = "default"
	FromFile        From = "file"
	FromDropIn      From = "drop-in"
	FromEnvironment From = "environment"
	FromFlag        From = "flag"
	FromTicket      From = "ticket"
)
