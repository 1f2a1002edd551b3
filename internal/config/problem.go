package config

import (
	"fmt"
	"strings"
)

// Problem is one problem of a configuration and its position.
type Problem struct {
	Key     string `json:"key,omitempty"`  // key in the file
	File    string `json:"file,omitempty"` // "" for the environment and flags
	Line    int    `json:"line,omitempty"` // from 1
	Message string `json:"message"`        // one sentence without secret values
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

// joinMessages returns the problems as one sentence.
func joinMessages(problems []Problem) string {
	texts := make([]string, 0, len(problems))
	for _, p := range problems {
		texts = append(texts, p.String())
	}
	return strings.Join(texts, "; ")
}

// Origin describes where the value of a setting comes from.
type Origin struct {
	From     SourceKind `json:"from"`
	Location string     `json:"place,omitempty"` // FILE:LINE, the variable, or the flag
}

// String returns the location, or the kind of source if there is no location.
func (o Origin) String() string {
	switch {
	case o.Location == "":
		return string(o.From)
	case o.From == FromJoinToken:
		return "join token " + o.Location
	}
	return o.Location
}

// SourceKind is a kind of source.
type SourceKind string

// The kinds of sources, in increasing precedence. A join token is an exception: it adds to
// the labels and taints of the other sources.
const (
	FromDefault     SourceKind = "default"
	FromFile        SourceKind = "file"
	FromDropIn      SourceKind = "drop-in"
	FromEnvironment SourceKind = "environment"
	FromFlag        SourceKind = "flag"
	FromJoinToken   SourceKind = "joinToken"
)
