// SPDX-License-Identifier: Apache-2.0

package config

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/redact"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Setting is one value and its origin.
type Setting struct {
	Key    string `json:"key" doc:"key of the setting in the configuration file"`
	Value  any    `json:"value" doc:"value of the setting; secrets in URLs are masked"`
	Origin Origin `json:"origin" doc:"source of the value"`
}

// Explanation is a configuration with the origins of its settings and all of its problems.
type Explanation struct {
	Join     Join
	Files    []string  // files that were read, in this order
	Settings []Setting // settings with a value, in the order of help; secrets in URLs are masked
	Problems []Problem

	origins map[string]Origin // by key
}

// Explain loads a join's configuration with the origin of each value. It continues after a
// problem to report all problems at once.
func Explain(source Source) Explanation {
	e := Explanation{Join: Defaults(), origins: map[string]Origin{}}
	var untrusted []Problem
	for i, name := range source.files() {
		name, content, unsafe, err := source.read(name)
		if errors.Is(err, fs.ErrNotExist) && i == 0 && !source.Required {
			continue
		}
		e.Files = append(e.Files, name)
		if err != nil {
			e.Problems = append(e.Problems, Problem{
				File:    name,
				Message: fmt.Sprintf("reading configuration: %v", errors.Unwrap(err)),
			})
			continue
		}
		if unsafe != nil {
			untrusted = append(untrusted, *unsafe)
			continue
		}
		lines, problems := readFile(name, content, &e.Join)
		e.Problems = append(e.Problems, problems...)
		from := FromDropIn
		if i == 0 {
			from = FromFile
		}
		for key, line := range lines {
			e.origins[key] = Origin{from, fmt.Sprintf("%s:%d", name, line)}
		}
	}
	if len(untrusted) > 0 {
		e.Problems = untrusted // do not report the content of a file that others can write
		return e
	}
	e.readEnvironment(source.Environment)
	if source.Flags != nil {
		e.readFlags(source.Flags)
	}
	e.addSettings()
	return e
}

// files returns the configuration file and its drop-ins, sorted by name. The file may not
// exist.
func (s Source) files() []string {
	// The pattern is valid. A directory that cannot be read counts as empty.
	dropins, _ := filepath.Glob(filepath.Join(filepath.Dir(s.File), "config.d", "*.yaml"))
	if s.NoDropIns {
		dropins = nil
	}
	slices.Sort(dropins)
	return append([]string{s.File}, dropins...)
}

// read returns the content of a file, and the name of the file for messages. A file that others
// can write to is not read.
func (s Source) read(name string) (label string, content []byte, unsafe *Problem, err error) {
	if name == "-" && s.Stdin != nil {
		if content, err = io.ReadAll(s.Stdin); err != nil {
			err = &fs.PathError{Op: "read", Path: "<stdin>", Err: err}
		}
		return "<stdin>", content, nil, err
	}
	content, unsafe, err = readTrusted(name)
	return name, content, unsafe, err
}

// addSettings adds the settings of the resulting configuration that are not empty.
func (e *Explanation) addSettings() {
	empty := FlagSet(&Join{})
	FlagSet(&e.Join).VisitAll(func(flag *pflag.Flag) {
		text := flag.Value.String()
		if text == empty.Lookup(flag.Name).Value.String() {
			return
		}
		value := any(redact.Text(text))
		if list, isList := flag.Value.(pflag.SliceValue); isList {
			value = lists.Map(list.GetSlice(), redact.Text)
		} else if flag.Value.Type() == "bool" {
			value = true
		}
		key := Key(flag.Name)
		e.Settings = append(e.Settings, Setting{key, value, cmp.Or(e.origins[key], Origin{From: FromDefault})})
	})
}

// DefaultFile is the default path of the configuration file. Its drop-ins are in config.d
// beside it.
const DefaultFile = "/etc/hcp-node-agent/config.yaml"

// Source describes where settings come from.
type Source struct {
	File        string         // configuration file; DefaultFile may be missing
	Stdin       io.Reader      // read if File is "-"; nil if "-" is an ordinary name
	Environment []string       // NAME=VALUE, as os.Environ returns it
	Flags       *pflag.FlagSet // parsed flags; nil for none
	Required    bool           // the user named the file, so it must exist
	NoDropIns   bool           // ignore drop-ins
}

// Load returns a join's configuration. Its errors have the exit code of invalid input.
func Load(source Source) (Join, error) {
	e := Explain(source)
	if len(e.Problems) == 0 {
		return e.Join, nil
	}
	var messages, remedies []string
	for _, p := range e.Problems {
		messages = append(messages, p.String())
		if p.Remedy != "" {
			remedies = append(remedies, string(p.Remedy))
		}
	}
	if len(e.Problems) == 1 || len(remedies) > 0 {
		return Join{}, report.Fail(report.Usage, report.Remedy(strings.Join(remedies, " && ")),
			"invalid configuration: %s", strings.Join(messages, "; "))
	}
	file, first := e.Problems[0].File, e.Problems[0]
	command := "hcp-node-agent config validate"
	onlyFile := !slices.ContainsFunc(e.Problems, func(p Problem) bool { return p.File != file })
	switch {
	case file != "" && onlyFile:
		command += " " + report.ShellWord(file)
		first.File = ""
	case source.File != DefaultFile:
		command += " --config " + report.ShellWord(source.File)
		fallthrough
	default:
		file = "the configuration"
	}
	return Join{}, report.Fail(report.Usage, report.Remedy(command+" # prints all problems"),
		"%s has %d problems; the first: %s", file, len(e.Problems), first)
}
