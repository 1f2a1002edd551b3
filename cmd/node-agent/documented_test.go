package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// documented matches a command of the agent on a line of its own, as in a block of
// commands; what follows for the shell is not part of it.
var documented = regexp.MustCompile(`(?m)^(?:# |\$ )?hcp-node-agent ([a-z][^\n|>#;&]*)`)

// Commands in the documentation are accepted as they are written.
func TestDocumentedCommandsAreValid(t *testing.T) {
	var files []string
	for _, pattern := range []string{"../../README.md", "../../docs/*.md", "../../examples/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		found = slices.DeleteFunc(found, func(file string) bool { return filepath.Base(file) == "reference.md" }) // generated, with usage lines
		files = append(files, found...)
	}
	root, checked := newRootCommand(&printer{}), 0
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range documented.FindAllStringSubmatch(string(content), -1) {
			args := strings.Fields(match[1])
			if c, _, err := root.Find(args); err != nil || c == root {
				continue // a sentence that begins with the program's name
			}
			if _, err := parseLine(args); err != nil && !errors.Is(err, pflag.ErrHelp) {
				t.Errorf("%s: %q: %v", filepath.Base(file), match[0], err)
			}
			checked++
		}
	}
	if checked < 20 {
		t.Errorf("only %d commands were found", checked)
	}
}
