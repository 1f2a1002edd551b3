// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
)

var (
	codeBlock = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	heading   = regexp.MustCompile(`(?m)^#+ (.*)$`)
	link      = regexp.MustCompile(`\]\(([^)\s]+)\)`)
)

// Every link between the repository's documents leads to an existing file and heading.
func TestDocumentLinks(t *testing.T) {
	count := 0
	for _, document := range documents(t) {
		for _, match := range link.FindAllStringSubmatch(proseOf(t, document), -1) {
			if strings.Contains(match[1], ":") {
				continue // not in the repository
			}
			count++
			path, anchor, hasAnchor := strings.Cut(match[1], "#")
			target := document
			if path != "" {
				target = filepath.Join(filepath.Dir(document), path)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %s: %v", document, match[1], err)
			} else if hasAnchor && !slices.Contains(anchors(t, target), anchor) {
				t.Errorf("%s: %s has no heading for #%s", document, target, anchor)
			}
		}
	}
	if count < 100 {
		t.Errorf("only %d links were found", count)
	}
}

// documents returns the files with the repository's documents.
func documents(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{
		"*.md", "docs/*.md", "examples/*.md", "examples/*/*.md", "packaging/*/*.md", "test/*/*.md", "test/*/*/*.md",
	} {
		found, err := filepath.Glob(filepath.Join("../..", pattern))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	return all
}

// Every flag in backquotes exists, except flags of other programs.
func TestDocumentedFlags(t *testing.T) {
	other := []string{
		"--cloud-provider", "--collector", "--containerd", "--hostname-override", "--no-block", "--nodeps",
		"--pod-infra-container-image", "--server-side",
	}
	var reference string
	for _, file := range []string{"../../docs/reference.md", "../../docs/reference-admin.md"} {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		reference += string(content)
	}
	documents, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	flag := regexp.MustCompile("`(--[a-z][a-z0-9-]*)")
	for _, document := range append(documents, "../../README.md", "../../CHANGELOG.md") {
		for _, match := range flag.FindAllStringSubmatch(proseOf(t, document), -1) {
			if !slices.Contains(other, match[1]) && !regexp.MustCompile(match[1]+`\b`).MatchString(reference) {
				t.Errorf("%s: there is no flag %s", document, match[1])
			}
		}
	}
}

// proseOf returns a document without its code blocks.
func proseOf(t *testing.T, document string) string {
	t.Helper()
	content, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	return codeBlock.ReplaceAllString(string(content), "")
}

// anchors returns the anchors that GitHub creates for the headings of a document.
func anchors(t *testing.T, document string) []string {
	t.Helper()
	var all []string
	for _, match := range heading.FindAllStringSubmatch(proseOf(t, document), -1) {
		text := regexp.MustCompile(`[^\w\- ]`).ReplaceAllString(strings.ToLower(match[1]), "")
		all = append(all, strings.ReplaceAll(text, " ", "-"))
	}
	return all
}

// promptedCommand matches a command after a prompt. A line that begins with # is a comment for the shell,
// and a pasted command with another prompt fails.
var promptedCommand = regexp.MustCompile(`(?m)^ *([#$]) (hcp-node-a\w+|cat|curl|dnf|grubby|jq|journalctl|make|nmcli|` +
	`oc|podman|rpm|sudo|systemctl|umask)\b.*$`)

// Commands in the blocks of all documents and in man pages can be pasted: they have no prompt.
func TestCommandsHaveNoPrompt(t *testing.T) {
	blocks := 0
	for _, document := range documents(t) {
		content, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range codeBlock.FindAllString(string(content), -1) {
			blocks++
			for _, line := range promptedCommand.FindAllString(block, -1) {
				t.Errorf("%s: %q has a prompt", document, line)
			}
		}
	}
	if blocks < 100 {
		t.Errorf("only %d blocks were found", blocks)
	}
	pages, err := cli.ManPages(agent().Root(), cli.Program{Name: programName, Version: version}, docs())
	if err != nil {
		t.Fatal(err)
	}
	for name, page := range pages {
		for _, line := range promptedCommand.FindAllString(page, -1) {
			t.Errorf("%s: %q has a prompt", name, line)
		}
	}
}

// Manifests and configuration files in the documents parse as YAML without duplicate keys. TestAnsiblePlaybook
// reads the playbook.
func TestDocumentedYAMLParses(t *testing.T) {
	block := regexp.MustCompile("(?ms)^ *```yaml[^\n]*\n(.*?)^ *```")
	parts := map[string]string{} // the document of each part
	for _, document := range documents(t) {
		content, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range block.FindAllStringSubmatch(string(content), -1) {
			for _, part := range strings.Split(match[1], "\n---\n") {
				parts[part] = document
			}
		}
	}
	if len(parts) < 5 {
		t.Errorf("only %d parts were found", len(parts))
	}
	for part, document := range parts {
		var value any
		if err := yaml.UnmarshalStrict([]byte(part), &value); err != nil || value == nil {
			t.Errorf("%s: %v\n%s", document, err, part)
		}
	}
}
