package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/hcp-node-agent/hcp-node-agent/internal/redact"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// readFile sets the values of a configuration file in join, as far as the file can be
// decoded. It returns the lines of the settings and all problems.
func readFile(name string, content []byte, join *Join) (lines map[string]int, problems []Problem) {
	lines = map[string]int{}
	var document yaml.Node
	var header struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string `yaml:"kind"`
	}
	if err := yaml.Unmarshal(content, &document); err == nil {
		collectLines(&document, "", lines)
		err = document.Decode(&header)
		if err == nil && (header.APIVersion != report.APIVersion || header.Kind != Kind) {
			problems = append(problems, Problem{
				Key:  "apiVersion",
				File: name,
				Line: lines["apiVersion"],
				Message: fmt.Sprintf("apiVersion %q and kind %q are not supported; expected %q and %q",
					header.APIVersion, header.Kind, report.APIVersion, Kind),
			})
		}
	}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	decoder.KnownFields(true)
	err := decoder.Decode(join)
	switch {
	case errors.Is(err, io.EOF): // an empty file
	case err != nil:
		problems = append(problems, decodingProblems(name, err)...)
	case !errors.Is(decoder.Decode(&yaml.Node{}), io.EOF):
		problems = append(problems, Problem{File: name, Message: "the file contains more than one YAML document"})
	}
	return lines, problems
}

// collectLines adds the line of each setting of a document or mapping to lines.
// The key of a nested setting has the form payload.drop.
func collectLines(node *yaml.Node, prefix string, lines map[string]int) {
	switch node.Kind {
	case yaml.DocumentNode:
		collectLines(node.Content[0], prefix, lines)
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			key := prefix + node.Content[i].Value
			lines[key] = node.Content[i].Line
			collectLines(node.Content[i+1], key+".", lines)
		}
	}
}

var yamlLine = regexp.MustCompile(`^(?:yaml: )?line (\d+): `)

// decodingProblems returns one problem for each error that the YAML decoder
// reports.
func decodingProblems(name string, err error) []Problem {
	texts := []string{err.Error()}
	var invalid *yaml.TypeError
	if errors.As(err, &invalid) {
		texts = invalid.Errors
	}
	problems := make([]Problem, 0, len(texts))
	for _, text := range texts {
		p := Problem{File: name, Message: text}
		if match := yamlLine.FindStringSubmatch(text); match != nil {
			p.Line, _ = strconv.Atoi(match[1]) // digits
			p.Message = text[len(match[0]):]
		}
		p.Message = redact.Text(p.Message)
		problems = append(problems, p)
	}
	return problems
}
