// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/test/remedies"
)

// printedCommand matches a command line of the agent, with the words after it in a note.
var printedCommand = regexp.MustCompile(`\bhcp-node-agent ([a-z-]+(?: +[^\s#;&|>,:()]+)*)`)

// The command lines of the agent in all remedies of the source must be valid: commands, flags and values.
func TestRemediesAreValidCommandLines(t *testing.T) {
	checked := 0
	for _, r := range remedies.Below(t, "../../cmd", "../../internal") {
		for line := range strings.Lines(r.Text) {
			command, _, _ := strings.Cut(line, "#")
			for _, match := range printedCommand.FindAllStringSubmatchIndex(line, -1) {
				words, isNote := strings.Fields(line[match[2]:match[3]]), match[0] >= len(command)
				if err := parse(words, isNote); err != nil {
					t.Errorf("%s: %q in %q: %v", r.At, words, line, err)
				}
				checked++
			}
		}
	}
	if checked < 60 {
		t.Errorf("only %d command lines were found", checked)
	}
}

// parse parses a command line without running it. In a note, a sentence can follow its flags.
func parse(words []string, isNote bool) error {
	if words[0] == remedies.Placeholder { // the command that runs
		words[0] = "join"
	}
	c, args, err := newRootCommand(newPrinter(cli.Streams{})).Find(words)
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

// placeholders are valid values for the placeholders of flags whose values are checked.
var placeholders = map[string]string{"4.Y": "4.18", "IMAGE": "quay.io/a/b:c", remedies.Placeholder: "4.18"}
