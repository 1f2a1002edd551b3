// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/schema"
)

// Problem is one problem of a configuration and its position.
type Problem struct {
	Key     string        `json:"key,omitempty" doc:"key of the setting in the configuration file; absent if the problem is not with one setting"`
	File    string        `json:"file,omitempty" doc:"path of the file; absent for the environment and flags"`
	Line    int           `json:"line,omitempty" doc:"line in the file, from 1; absent if unknown"`
	Column  int           `json:"column,omitempty" doc:"column in the line, from 1; absent if unknown"`
	Message string        `json:"message" doc:"problem in one sentence without secret values"`
	Remedy  report.Remedy `json:"remedy,omitempty" doc:"how to resolve the problem"`
}

// String returns FILE:LINE:COLUMN: MESSAGE, the format that editors parse, without the parts that
// are unknown, and line LINE: MESSAGE without a file.
func (p Problem) String() string {
	position := p.File
	for _, number := range []int{p.Line, p.Column} {
		if number > 0 {
			position += fmt.Sprintf(":%d", number)
		}
	}
	if p.File == "" && p.Line > 0 {
		position = fmt.Sprintf("line %d", p.Line)
	}
	if position == "" {
		return p.Message
	}
	return position + ": " + p.Message
}

// Origin describes where the value of a setting comes from.
type Origin struct {
	From     SourceKind `json:"from" doc:"kind of the source"`
	Location string     `json:"location,omitempty" doc:"FILE:LINE, the variable, the flag or the join token; absent for a default"`
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

// Enum returns all kinds of sources.
func (SourceKind) Enum() []string {
	return schema.Strings(FromDefault, FromFile, FromDropIn, FromEnvironment, FromFlag, FromJoinToken)
}
