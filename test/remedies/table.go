// SPDX-License-Identifier: Apache-2.0

package remedies

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Places in which a remedy is run.
const (
	Scratch = "scratch" // a temporary directory of this machine, with the built programs
	Cluster = "cluster" // against a real kube-apiserver, with kubectl as oc
	Node    = "node"    // a virtual machine that has joined
)

// An Entry states how the commands of a remedy are tried. It has exactly one of State, In and Parsed.
type Entry struct {
	// Command is the commands of the remedy, with Placeholder for what is known only at run time.
	Command string `yaml:"command"`
	// State is the state of states.yaml whose output contains the remedy, which is run as it was printed.
	State string `yaml:"state,omitempty"`
	// Fixes: after the commands, the finding is gone. Otherwise, they show its cause.
	Fixes bool `yaml:"fixes,omitempty"`
	// In is the place in which the commands are run outside of their state.
	In string `yaml:"in,omitempty"`
	// With contains the values that replace the placeholders, and words in capital letters as WORD=VALUE.
	With []string `yaml:"with,flow,omitempty"`
	// Fails is the reason why the last command can exit with another code than 0. It is valid nevertheless.
	Fails string `yaml:"fails,omitempty"`
	// Parsed is the reason why the commands are not run.
	Parsed string `yaml:"parsed,omitempty"`
}

// Commands returns the commands of a remedy.
func (r Remedy) Commands() string { return report.Remedy(r.Text).Command() }

// Load returns the entries of the table.
func Load(t *testing.T) []Entry {
	t.Helper()
	return loadFile[Entry](t, "remedies.yaml")
}

// repository returns the root of the checkout.
func repository(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != "/"; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
	}
	t.Fatal("the test does not run in a checkout")
	return ""
}

func loadFile[T any](t *testing.T, name string) []T {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(repository(t), "test/remedies/testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var all []T
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	decoder.KnownFields(true)
	if err := decoder.Decode(&all); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return all
}

// Check returns an error unless the entry states one way to try the remedy.
func (e Entry) Check() error {
	ways := 0
	for _, way := range []string{e.State, e.In, e.Parsed} {
		if way != "" {
			ways++
		}
	}
	switch {
	case ways == 0:
		return errors.New("no way to try it: set state, in or parsed")
	case ways > 1 || (e.State == "" && e.Fixes):
		return errors.New("more than one way to try it")
	case e.In != "" && !slices.Contains([]string{Scratch, Cluster, Node}, e.In):
		return fmt.Errorf("in: %q is no place", e.In)
	case e.In != "" && strings.Count(e.Command, Placeholder) != len(e.values()):
		return fmt.Errorf("%d values for the placeholders", len(e.values()))
	}
	return nil
}

// word matches the assignment of a value to a word in capital letters.
var word = regexp.MustCompile(`^([A-Z_]+)=(.*)$`)

// values returns the values of placeholders.
func (e Entry) values() []string {
	return slices.DeleteFunc(slices.Clone(e.With), word.MatchString)
}

// Script returns the commands with values.
func (e Entry) Script() string {
	return e.replaceWords(e.withValues())
}

func (e Entry) withValues() string {
	script := e.Command
	for _, value := range e.values() {
		script = strings.Replace(script, Placeholder, value, 1)
	}
	return script
}

// replaceWords replaces the words in capital letters that an administrator must replace.
func (e Entry) replaceWords(script string) string {
	for _, value := range e.With {
		if match := word.FindStringSubmatch(value); match != nil {
			script = regexp.MustCompile(`\b`+match[1]+`\b`).ReplaceAllLiteralString(script, match[2])
		}
	}
	return script
}

// matches reports whether the entry is that of a printed remedy.
func (e Entry) matches(printed string) bool {
	pattern := strings.ReplaceAll(regexp.QuoteMeta(e.Command), Placeholder, `[\s\S]+`)
	// The inputs of the run complete commands of the agent.
	pattern = strings.ReplaceAll(pattern, "hcp-node-agent join", `hcp-node-agent (?:join|upgrade)(?: [^\n;]*?)?`)
	return regexp.MustCompile(`^(?:` + pattern + `)$`).MatchString(printed)
}
