// SPDX-License-Identifier: Apache-2.0

package clitest

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hcp-node-agent/hcp-node-agent/test/remedies"
)

// CheckRemedies checks that the command lines of the program in all remedies of the source, of which there are at
// least minimum, are valid: commands, flags and values. placeholders are valid values for the placeholders of flags
// whose values are checked.
func (p Program) CheckRemedies(t *testing.T, minimum int, placeholders map[string]string) {
	t.Helper()
	// a command line of the program, with the words after it in a note
	printed := regexp.MustCompile(`\b` + p.Name + ` ((?:[a-z-]+|` + remedies.Placeholder + `)(?: +[^\s#;&|>,:()]+)*)`)
	checked := 0
	for _, r := range remedies.Below(t, "../../cmd", "../../internal") {
		for line := range strings.Lines(r.Text) {
			command, _, _ := strings.Cut(line, "#")
			for _, match := range printed.FindAllStringSubmatchIndex(line, -1) {
				words, isNote := strings.Fields(line[match[2]:match[3]]), match[0] >= len(command)
				if err := p.parseRemedy(words, isNote, placeholders); err != nil {
					t.Errorf("%s: %q in %q: %v", r.At, words, line, err)
				}
				checked++
			}
		}
	}
	if checked < minimum {
		t.Errorf("only %d command lines were found", checked)
	}
}

// parseRemedy parses a command line without running it. In a note, a sentence can follow its flags.
func (p Program) parseRemedy(words []string, isNote bool, placeholders map[string]string) error {
	if words[0] == remedies.Placeholder { // the command that runs
		words[0] = "join"
	}
	c, args, err := p.Root().Find(words)
	if err != nil {
		return err
	}
	if isNote {
		args = withoutSentence(c, args)
	}
	for i, word := range args {
		if example, isPlaceholder := placeholders[word]; isPlaceholder {
			args[i] = example
		}
	}
	if err := c.ParseFlags(args); err != nil && !errors.Is(err, pflag.ErrHelp) {
		return err
	}
	return c.ValidateArgs(c.Flags().Args())
}

// withoutSentence returns the flags at the start of args, with their values.
func withoutSentence(c *cobra.Command, args []string) []string {
	end := 0
	for end < len(args) && strings.HasPrefix(args[end], "--") {
		if flag := c.Flags().Lookup(strings.TrimPrefix(args[end], "--")); flag != nil && flag.NoOptDefVal == "" {
			end++
		}
		end++
	}
	return args[:min(end, len(args))]
}
