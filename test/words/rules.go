// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// place is a set of the places to which a rule applies.
type place int

const (
	inComment    place = 1 << iota // comments of all files
	inIdentifier                   // declared names and names in JSON, split into lower-case words
	inFunction                     // the first words after the name in a function's doc comment
	inMessage                      // string literals with blanks, descriptions in struct tags, YAML files
	inDocument                     // Markdown files
)

var places = map[string]place{
	"text":       inComment | inMessage | inDocument,
	"all":        inComment | inMessage | inDocument | inIdentifier,
	"comment":    inComment,
	"identifier": inIdentifier,
	"function":   inFunction,
}

// A rule is one line of words.txt.
type rule struct {
	pattern *regexp.Regexp
	places  place
	instead string
}

// parseRules parses lines of the form EXPRESSION<TAB>PLACE<TAB>INSTEAD. Expressions match whole
// words regardless of case.
func parseRules(content string) ([]rule, error) {
	var rules []rule
	err := eachLine(content, func(fields []string) error {
		p, ok := places[fields[1]]
		if !ok {
			return fmt.Errorf("unknown place %q", fields[1])
		}
		prefix := `\b`
		if p == inFunction {
			prefix = `^`
		}
		pattern, err := regexp.Compile(`(?i)` + prefix + `(?:` + fields[0] + `)\b`)
		if err != nil {
			return err
		}
		rules = append(rules, rule{pattern: pattern, places: p, instead: fields[2]})
		return nil
	})
	return rules, err
}

// An exception permits a word in a file.
type exception struct{ file, word string }

// exceptions are the permitted words with their reasons.
type exceptions map[exception]string

// parseExceptions parses lines of the form FILE<TAB>WORD<TAB>REASON.
func parseExceptions(content string) (exceptions, error) {
	parsed := exceptions{}
	err := eachLine(content, func(fields []string) error {
		parsed[exception{file: fields[0], word: strings.ToLower(fields[1])}] = fields[2]
		return nil
	})
	return parsed, err
}

// filter removes the permitted findings. It returns the exceptions without a finding as well.
func (e exceptions) filter(findings []finding) (kept []finding, unused []exception) {
	used := map[exception]bool{}
	for _, f := range findings {
		key := exception{file: f.file, word: strings.ToLower(f.word)}
		if _, ok := e[key]; ok {
			used[key] = true
			continue
		}
		kept = append(kept, f)
	}
	for key := range e {
		if !used[key] {
			unused = append(unused, key)
		}
	}
	slices.SortFunc(unused, func(a, b exception) int {
		return cmp.Or(strings.Compare(a.file, b.file), strings.Compare(a.word, b.word))
	})
	return kept, unused
}

// eachLine calls parse with the three fields of each line that is neither empty nor a comment.
func eachLine(content string, parse func(fields []string) error) error {
	for i, line := range strings.Split(content, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(line, "\t")
		if len(fields) != 3 || strings.TrimSpace(fields[2]) == "" {
			return fmt.Errorf("%d: want three fields separated by tabs", i+1)
		}
		if err := parse(fields); err != nil {
			return fmt.Errorf("%d: %w", i+1, err)
		}
	}
	return nil
}
