// SPDX-License-Identifier: Apache-2.0

package remedies

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Shell runs a script with bash.
type Shell func(script string) (Result, error)

// Result is the result of a script.
type Result struct {
	Stdout, Stderr string
	ExitCode       int
}

// A State is a state of a host in which the agent prints remedies.
type State struct {
	Name    string `yaml:"name"`
	In      string `yaml:"in"`      // the place
	Setup   string `yaml:"setup"`   // makes the state
	Run     string `yaml:"run"`     // prints the remedies as JSON, with any exit code
	Restore string `yaml:"restore"` // ends the state
}

// failedCommand matches what a shell and programs print on standard error about a command line that is not valid.
var failedCommand = regexp.MustCompile(`(?i)command not found|unknown (option|verb|flag|command|operation)|` +
	`(invalid|unrecognized|illegal) option|unrecognized arguments|could not be found|no such option|syntax error|` +
	`no such file or directory|unknown shorthand|invalid argument|no user data was given`)

// Run tries all remedies of a place: first those with a state, then the others. It records the results and fails for
// those that do not work.
func Run(t *testing.T, place string, shell Shell) {
	t.Helper()
	entries := Load(t)
	var results Results
	for _, state := range loadFile[State](t, "states.yaml") {
		if state.In == place {
			t.Run(state.Name, func(t *testing.T) { results.add(t, state.run(t, entries, shell)) })
		}
	}
	for _, entry := range entries {
		if entry.In == place {
			problem := tryScript(shell, entry.Script(), entry.Fails)
			results.add(t, map[string]string{entry.Command: problem})
		}
	}
	results.write(t, place, entries)
}

// tryScript runs commands, and returns why they are not valid, "" if they are.
func tryScript(shell Shell, script, fails string) string {
	result, err := shell(script)
	found := failedCommand.FindString(result.Stderr)
	switch {
	case err != nil:
		return err.Error()
	case found != "":
		return fmt.Sprintf("%q prints %q:\n%s", script, found, result.Stderr)
	case result.ExitCode == 127 || (result.ExitCode != 0 && fails == ""):
		return fmt.Sprintf("%q exits with code %d:\n%s%s", script, result.ExitCode, result.Stdout, result.Stderr)
	}
	return ""
}

// run runs each remedy that is printed in the state and belongs to it. It returns the problems by command.
func (s State) run(t *testing.T, entries []Entry, shell Shell) map[string]string {
	t.Helper()
	defer func() { s.mustRun(t, shell, s.Restore) }()
	s.mustRun(t, shell, s.Setup)
	results := map[string]string{}
	for _, entry := range entries {
		if entry.State == s.Name {
			results[entry.Command] = "it is not printed in state " + s.Name
		}
	}
	printed := s.printed(t, shell)
	for _, command := range printed {
		known := slices.DeleteFunc(slices.Clone(entries), func(e Entry) bool { return !e.matches(command) })
		at := slices.IndexFunc(known, func(e Entry) bool { return e.State == s.Name })
		switch {
		case len(known) == 0:
			t.Errorf("the table does not contain %q", command)
			continue
		case at < 0:
			continue // tried in another state or place
		}
		entry := known[at]
		problem := tryScript(shell, entry.replaceWords(command), entry.Fails)
		if problem == "" && entry.Fixes && slices.Contains(s.printed(t, shell), command) {
			problem = "it leads no step further: it is printed again"
		}
		results[entry.Command] = problem
	}
	if t.Failed() || slices.ContainsFunc(slices.Collect(maps.Values(results)), func(p string) bool { return p != "" }) {
		t.Logf("printed: %q", printed)
	}
	return results
}

func (s State) mustRun(t *testing.T, shell Shell, script string) {
	t.Helper()
	if result, err := shell("set -e\n" + script); err != nil || result.ExitCode != 0 {
		t.Errorf("%s: %v, %+v", script, err, result)
	}
}

// printed runs the command of the state and returns the commands of the remedies in its output, each once.
func (s State) printed(t *testing.T, shell Shell) []string {
	t.Helper()
	result, err := shell(s.Run)
	if err != nil {
		t.Error(err)
	}
	var all []string
	for decoder := json.NewDecoder(bytes.NewReader([]byte(result.Stdout))); ; {
		var document any
		if err := decoder.Decode(&document); err != nil {
			if !errors.Is(err, io.EOF) {
				t.Errorf("%s: %v: %+v", s.Run, err, result)
			}
			break
		}
		all = append(all, commandsIn(document)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// commandsIn returns the commands of all remedies in a document.
func commandsIn(value any) []string {
	var all []string
	switch value := value.(type) {
	case map[string]any:
		if remedy, isRemedy := value["remedy"].(map[string]any); isRemedy {
			if command, hasCommand := remedy["command"].(string); hasCommand {
				all = append(all, command)
			}
		}
		for _, field := range value {
			all = append(all, commandsIn(field)...)
		}
	case []any:
		for _, element := range value {
			all = append(all, commandsIn(element)...)
		}
	}
	return all
}

// Results are problems by command, "" for a remedy that works.
type Results map[string]string

func (r *Results) add(t *testing.T, more map[string]string) {
	t.Helper()
	if *r == nil {
		*r = Results{}
	}
	for _, command := range slices.Sorted(maps.Keys(more)) {
		(*r)[command] = more[command]
		if more[command] != "" {
			t.Errorf("remedy %q: %s", command, more[command])
		}
	}
}

// resultsFile is the list of all remedies with their states and results.
const resultsFile = "build/remedies.txt"

// write replaces the results of a place in the list, and prints a summary.
func (r Results) write(t *testing.T, place string, entries []Entry) {
	t.Helper()
	path := filepath.Join(repository(t), resultsFile)
	content, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	before := map[string]string{}
	for line := range strings.Lines(string(content)) {
		result, command, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		before[command] = result
	}
	states := map[string]string{}
	for _, state := range loadFile[State](t, "states.yaml") {
		states[state.Name] = state.In
	}
	var lines strings.Builder
	counts := map[string]int{}
	for _, entry := range entries {
		key := strings.ReplaceAll(entry.Command, "\n", " ⏎ ")
		result, kind := before[key], "executed"
		if result == "" {
			result = "not run"
		}
		if problem, isTried := r[entry.Command]; isTried {
			result = "ok"
			if problem != "" {
				result = "FAILED"
			}
			switch {
			case entry.State != "" && entry.Fixes:
				result += ", finding gone; state " + entry.State
			case entry.State != "":
				result += ", printed and executed; state " + entry.State
			default:
				result += ", executed; " + entry.In
			}
		}
		switch {
		case entry.Parsed != "":
			result, kind = "parsed: "+entry.Parsed, "parsed only"
		case entry.State != "":
			kind = "executed in the state that prints it"
		}
		counts[kind]++
		fmt.Fprintf(&lines, "%s\t%s\n", result, key)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %d remedies tried; of all %d: %v; see %s", place, len(r), len(entries), counts, resultsFile)
}
