// SPDX-License-Identifier: Apache-2.0

package config

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/hcp-node-agent/hcp-node-agent/internal/redact"
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
}

// Explain loads a join's configuration with the origin of each value. It continues after a
// problem to report all problems at once.
func Explain(source Source) Explanation {
	e := Explanation{Join: Defaults()}
	keys := Keys()
	origins := map[string]Origin{}
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
			origins[key] = Origin{from, fmt.Sprintf("%s:%d", name, line)}
		}
	}
	if len(untrusted) > 0 {
		e.Problems = untrusted // do not report the content of a file that others can write
		return e
	}
	e.Problems = append(e.Problems, fromEnvironment(&e.Join, source.Environment, func(flag string) {
		origins[keys[flag]] = Origin{FromEnvironment, Variable(flag)}
	})...)
	if source.Flags != nil {
		e.Problems = append(e.Problems, fromFlags(&e.Join, source.Flags, func(flag string) {
			origins[keys[flag]] = Origin{FromFlag, "--" + flag}
		})...)
	}
	e.addSettings(keys, origins)
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

// addSettings adds the settings of the resulting configuration.
func (e *Explanation) addSettings(keys map[string]string, origins map[string]Origin) {
	var object map[string]any
	if content, err := json.Marshal(e.Join); err != nil || json.Unmarshal(content, &object) != nil {
		return
	}
	flags := pflag.NewFlagSet("order", pflag.ContinueOnError)
	flags.SortFlags = false
	Flags(flags, &Join{})
	flags.VisitAll(func(flag *pflag.Flag) {
		key := keys[flag.Name]
		value := any(object)
		for name := range strings.SplitSeq(key, ".") {
			below, _ := value.(map[string]any)
			value = below[name]
		}
		if value == nil {
			return
		}
		origin := cmp.Or(origins[key], Origin{From: FromDefault})
		e.Settings = append(e.Settings, Setting{key, maskSecrets(value), origin})
	})
}

// maskSecrets returns a value with its secrets masked.
func maskSecrets(value any) any {
	switch v := value.(type) {
	case string:
		return redact.Text(v)
	case []any:
		for i := range v {
			v[i] = maskSecrets(v[i])
		}
	}
	return value
}
