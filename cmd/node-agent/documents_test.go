package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
)

// agentCommand matches a command line of the agent up to a comment, a separator or three spaces.
var agentCommand = regexp.MustCompile(`(?m)^[ #$]*(?:sudo )?hcp-node-agent ([a-z][a-z-]*)((?: [^ #&|;>\n]+)*)`)

// Every command line of the agent in a code block of the documentation is valid: the command and
// its flags exist, and the settings are valid.
func TestDocumentedCommands(t *testing.T) {
	documents := []string{"../../README.md"}
	for _, pattern := range []string{"../../docs/*.md", "../../examples/*.md", "../../examples/*/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, found...)
	}
	checked := 0
	for _, document := range documents {
		if filepath.Base(document) == "reference.md" {
			continue // generated, with usage lines
		}
		content, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		for i, block := range strings.Split(string(content), "\n```") {
			if i%2 == 0 {
				continue
			}
			for _, match := range agentCommand.FindAllStringSubmatch(block, -1) {
				checked++
				if err := checkCommandLine(append([]string{match[1]}, strings.Fields(match[2])...)); err != nil {
					t.Errorf("%s: %q: %v", filepath.Base(document), strings.TrimSpace(match[0]), err)
				}
			}
		}
	}
	if checked < 20 {
		t.Errorf("only %d commands were found", checked)
	}
}

// parseLine parses a command line without running its command.
func parseLine(args []string) (*cobra.Command, error) {
	c, rest, err := newRootCommand(&Printer{}).Find(args)
	if err != nil {
		return nil, err
	}
	if err := c.ParseFlags(rest); err != nil {
		return nil, err
	}
	return c, c.ValidateArgs(c.Flags().Args())
}

// checkCommandLine returns an error if a command line cannot be parsed or has an invalid setting.
func checkCommandLine(args []string) error {
	c, err := parseLine(args)
	if err != nil || c.Flags().Lookup("until") == nil {
		return err
	}
	none := func(string) (string, bool) { return "", false }
	_, err = config.Load(config.Source{File: "/nonexistent/config.yaml", Lookup: none, Flags: c.Flags()})
	return err
}

// The table of settings in the document lists exactly the existing settings.
func TestBridgeDocumentListsSettings(t *testing.T) {
	content, err := os.ReadFile("../../docs/br-ex.md")
	if err != nil {
		t.Fatal(err)
	}
	c := &cobra.Command{}
	settingFlags(c)
	rows := regexp.MustCompile("(?m)^\\| `--([a-z-]+)[^|]*\\| `([A-Za-z]+)`").FindAllStringSubmatch(string(content), -1)
	if len(rows) < 4 {
		t.Errorf("only %d rows were found", len(rows))
	}
	for _, row := range rows {
		if c.Flags().Lookup(row[1]) == nil {
			t.Errorf("there is no flag --%s", row[1])
		}
		file := filepath.Join(t.TempDir(), "config.yaml")
		value := map[string]string{"verifyReach": "[a:1]", "networkTimeout": "60s", "skip": "[network]"}[row[2]]
		text := "apiVersion: node.hcp-agent.io/v1alpha1\nkind: JoinConfig\n" + row[2] + ": " + value + "\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		none := func(string) (string, bool) { return "", false }
		if _, err := config.Load(config.Source{File: file, Lookup: none, Flags: pflag.NewFlagSet("none", pflag.ContinueOnError)}); err != nil {
			t.Errorf("%s: %v", row[2], err)
		}
	}
}
