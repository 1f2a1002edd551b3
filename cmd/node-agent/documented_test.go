package main

import (
	"os"
	"path/filepath"
	"regexp"
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
		files = append(files, found...)
	}
	checked := 0
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range documented.FindAllStringSubmatch(string(content), -1) {
			name, args := split(strings.Fields(match[1]))
			v, known := find(name)
			if !known {
				continue // a sentence that begins with the program's name
			}
			flags, common, _ := v.flags()
			flags.Usage = func() {}
			err := flags.Parse(args)
			if err == nil {
				err = common.check()
			}
			if err == nil {
				err = v.fits(flags)
			}
			if err != nil && err != pflag.ErrHelp { //nolint:errorlint // Parse returns it as it is
				t.Errorf("%s: %q: %v", filepath.Base(file), match[0], err)
			}
			checked++
		}
	}
	if checked < 20 {
		t.Errorf("only %d commands were found", checked)
	}
}
