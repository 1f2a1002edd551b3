package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	yamlnode "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// file reads one file of configuration: it knows where each setting is, and what
// is wrong.
type file struct {
	name     string
	at       map[string]position // by the settings' names, payload.drop for what is below
	problems []Problem
}

// readFile sets in join what the file says and that can be understood.
func readFile(name string, content []byte, join *Join) file {
	f := file{name: name, at: map[string]position{}}
	root := f.parse(content)
	if root == nil {
		return f
	}
	f.head(root)
	f.mapping(root, "", reflect.TypeOf(*join))
	if len(f.problems) > 0 {
		_ = yaml.Unmarshal(content, join) // what can be understood, for what else may be wrong
		return f
	}
	join.APIVersion, join.Kind = "", ""
	if err := yaml.UnmarshalStrict(content, join); err != nil {
		f.problem(nil, "", "reading YAML: %v", err)
	}
	return f
}

func (f *file) problem(node *yamlnode.Node, key, format string, args ...any) {
	p := Problem{Key: key, File: f.name, Message: fmt.Sprintf(format, args...)}
	if node != nil {
		p.Line, p.Column = node.Line, node.Column
	}
	f.problems = append(f.problems, p)
}

var yamlLine = regexp.MustCompile(`^yaml: line (\d+): `)

// parse gives the one mapping that a file is.
func (f *file) parse(content []byte) *yamlnode.Node {
	decoder := yamlnode.NewDecoder(bytes.NewReader(content))
	var document, more yamlnode.Node
	err := decoder.Decode(&document)
	if err == nil {
		if err = decoder.Decode(&more); err == nil {
			f.problem(&more, "", "a second document begins here; a file has one")
			return nil
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		at := &yamlnode.Node{}
		text := err.Error()
		if match := yamlLine.FindStringSubmatch(text); match != nil {
			at.Line, _ = strconv.Atoi(match[1]) // digits
			at.Column, text = 1, strings.TrimPrefix(text, match[0])
			if strings.HasPrefix(text, "did not find expected") {
				at.Line++ // of what its parser finds, yaml counts the lines from 0
			}
		}
		f.problem(at, "", "it is not YAML: %s", strings.TrimPrefix(text, "yaml: "))
		return nil
	}
	if len(document.Content) == 0 {
		return &yamlnode.Node{Kind: yamlnode.MappingNode}
	}
	root := document.Content[0]
	if root.Kind != yamlnode.MappingNode {
		f.problem(root, "", "it is not a mapping, SETTING: VALUE")
		return nil
	}
	return root
}

// head is how every file of configuration begins.
func (f *file) head(root *yamlnode.Node) {
	var version, kind string
	var at *yamlnode.Node
	for i := 0; i+1 < len(root.Content); i += 2 {
		switch root.Content[i].Value {
		case "apiVersion":
			version, at = root.Content[i+1].Value, root.Content[i]
		case "kind":
			kind = root.Content[i+1].Value
		}
	}
	if version != report.APIVersion || kind != Kind {
		f.problem(at, "apiVersion", "it begins with apiVersion %q and kind %q, this program reads %q and %q", version, kind, report.APIVersion, Kind)
	}
}

// mapping looks at all settings of a mapping.
func (f *file) mapping(node *yamlnode.Node, prefix string, wanted reflect.Type) {
	fields := fieldsOf(wanted)
	for i := 0; i+1 < len(node.Content); i += 2 {
		name, value := node.Content[i], node.Content[i+1]
		key := prefix + name.Value
		field, known := fields[name.Value]
		if !known {
			f.unknown(name, key)
			continue
		}
		if first, twice := f.at[key]; twice {
			f.problem(name, key, "%s is here a second time; the first is in line %d", key, first.line)
			continue
		}
		f.at[key] = position{f.name, name.Line, name.Column}
		if field.Kind() == reflect.Struct && value.Kind == yamlnode.MappingNode {
			f.mapping(value, key+".", field)
			continue
		}
		f.value(name, value, key, field)
	}
}

func (f *file) unknown(name *yamlnode.Node, key string) {
	hint := ""
	if meant := nearest(key, known(reflect.TypeOf(Join{}), "")); meant != "" {
		hint = fmt.Sprintf("; did you mean %s?", meant)
	}
	f.problem(name, key, "there is no setting %q%s", key, hint)
}

// value tells whether a value is of the setting's type.
func (f *file) value(name, value *yamlnode.Node, key string, wanted reflect.Type) {
	if value.Kind == yamlnode.AliasNode {
		value = value.Alias
	}
	content, err := yamlnode.Marshal(value)
	if err == nil {
		err = yaml.UnmarshalStrict(content, reflect.New(wanted).Interface())
	}
	if err != nil {
		f.problem(value, key, "%s has to be %s", name.Value, typeInWords(wanted))
	}
}
