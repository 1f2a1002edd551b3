// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/hcp-node-agent/hcp-node-agent/internal/redact"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// fileReader sets the values of a configuration file, and collects all problems of the file in
// their order.
type fileReader struct {
	name     string
	settings map[string]pflag.Value // by key
	lines    map[string]int         // of the keys that were read
	problems []Problem
}

// readFile sets the valid values of a configuration file in join. It returns the lines of the
// settings and all problems.
func readFile(name string, content []byte, join *Join) (lines map[string]int, problems []Problem) {
	f := fileReader{name: name, settings: valuesByKey(join), lines: map[string]int{}}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	var document, next yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF): // an empty file
	case err != nil:
		return nil, []Problem{syntaxProblem(name, err)}
	default:
		f.readMapping(document.Content[0], "")
	}
	if !errors.Is(decoder.Decode(&next), io.EOF) {
		f.addProblem(&next, "", "the file contains more than one YAML document")
	}
	var missing []Problem
	for _, key := range []string{"apiVersion", "kind"} {
		if f.lines[key] == 0 {
			missing = append(missing, Problem{
				Key:     key,
				File:    name,
				Message: key + " is missing; it " + checkHeader(key)("").Error(),
			})
		}
	}
	return f.lines, append(missing, f.problems...)
}

// valuesByKey returns the values of all keys of a file, bound to join.
func valuesByKey(join *Join) map[string]pflag.Value {
	flags := pflag.NewFlagSet("file", pflag.ContinueOnError)
	flags.StringVar(&join.APIVersion, "apiVersion", "", "")
	flags.StringVar(&join.Kind, "kind", "", "")
	values := map[string]pflag.Value{}
	flags.VisitAll(func(flag *pflag.Flag) {
		values[flag.Name] = checkedValue{Value: flag.Value, check: checkHeader(flag.Name)}
	})
	FlagSet(join).VisitAll(func(flag *pflag.Flag) { values[Key(flag.Name)] = flag.Value })
	return values
}

// checkHeader returns the check of apiVersion or kind.
func checkHeader(key string) func(string) error {
	required := map[string]string{"apiVersion": report.APIVersion, "kind": Kind}[key]
	return func(text string) error {
		if text != required {
			return errors.New("must be " + required)
		}
		return nil
	}
}

// readMapping sets the values of a mapping. The prefix of its keys is "" or ends with a period.
func (f *fileReader) readMapping(node *yaml.Node, prefix string) {
	if node.Kind != yaml.MappingNode {
		section := strings.TrimSuffix(prefix, ".")
		f.addProblem(node, section, strings.TrimPrefix(section+": must be a mapping of settings to values", ": "))
		return
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		name, value := node.Content[i], resolveAlias(node.Content[i+1])
		key := prefix + name.Value
		if line, exists := f.lines[key]; exists {
			f.addProblem(name, key, fmt.Sprintf("%s: already set in line %d", key, line))
			continue
		}
		setting, isSetting := f.settings[key]
		isSection := slices.ContainsFunc(f.keys(), func(known string) bool { return strings.HasPrefix(known, key+".") })
		switch {
		case !isSetting && !isSection:
			f.addProblem(name, "", fmt.Sprintf("%s: unknown setting%s", key, Suggestion(key, f.keys())))
			continue
		case value.ShortTag() == "!!null":
			continue // not set
		case isSection:
			f.readMapping(value, key+".")
		default:
			f.readSetting(value, key, setting)
		}
		f.lines[key] = name.Line
	}
}

func (f *fileReader) keys() []string { return slices.Sorted(maps.Keys(f.settings)) }

// readSetting sets a value or the elements of a list.
func (f *fileReader) readSetting(node *yaml.Node, key string, setting pflag.Value) {
	list, isList := setting.(pflag.SliceValue)
	if !isList {
		f.readScalar(node, key, setting.Set)
		return
	}
	if node.Kind != yaml.SequenceNode {
		f.addProblem(node, key, key+": must be a list")
		return
	}
	_ = list.Replace(nil) // an empty list is valid
	for _, element := range node.Content {
		f.readScalar(resolveAlias(element), key, list.Append)
	}
}

func (f *fileReader) readScalar(node *yaml.Node, key string, set func(string) error) {
	if node.Kind != yaml.ScalarNode {
		f.addProblem(node, key, key+": must be a single value")
		return
	}
	if err := set(node.Value); err != nil {
		f.addProblem(node, key, report.InvalidValue(key, node.Value, err))
	}
}

// addProblem adds a problem at the position of a node.
func (f *fileReader) addProblem(node *yaml.Node, key, message string) {
	f.problems = append(f.problems, Problem{
		Key: key, File: f.name, Line: node.Line, Column: node.Column, Message: message,
	})
}

func resolveAlias(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// syntaxProblem returns the problem for an error of the YAML parser, which contains the line.
func syntaxProblem(name string, err error) Problem {
	match := yamlLine.FindStringSubmatch(err.Error())
	if match == nil {
		return Problem{File: name, Message: redact.Text(err.Error())}
	}
	line, _ := strconv.Atoi(match[1]) // digits, or "" if the line is unknown
	return Problem{File: name, Line: line, Message: redact.Text(err.Error()[len(match[0]):])}
}
