// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	codeBlock = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	heading   = regexp.MustCompile(`(?m)^#+ (.*)$`)
	link      = regexp.MustCompile(`\]\(([^)\s]+)\)`)
)

// Every link between the repository's documents leads to an existing file and heading.
func TestDocumentLinks(t *testing.T) {
	var documents []string
	for _, pattern := range []string{
		"*.md", "docs/*.md", "examples/*.md", "examples/*/*.md", "packaging/*/*.md", "test/*/*.md", "test/*/*/*.md",
	} {
		found, err := filepath.Glob(filepath.Join("../..", pattern))
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, found...)
	}
	count := 0
	for _, document := range documents {
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

// Every flag in backquotes exists, except flags of other programs.
func TestDocumentedFlags(t *testing.T) {
	other := []string{"--cloud-provider", "--collector", "--hostname-override", "--no-block", "--nodeps", "--server-side"}
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
	flag := regexp.MustCompile("`(--[a-z][a-z-]*)")
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
