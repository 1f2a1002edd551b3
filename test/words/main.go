// SPDX-License-Identifier: Apache-2.0

// Command words checks the language of the repository against words.txt: comments, identifiers and
// messages of Go files, the names of test cases, Markdown and YAML files, and the comments of scripts and
// units. It prints one line for each finding and exits with status 1 if there is any.
//
// Usage: go run ./test/words
package main

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

const (
	rulesFile      = "test/words/words.txt"
	exceptionsFile = "test/words/exceptions.txt"
)

func main() {
	count, err := run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "words:", err)
		os.Exit(2)
	}
	if count > 0 {
		fmt.Fprintf(os.Stderr, "words: %d findings. Exceptions with a reason: %s\n", count, exceptionsFile)
		os.Exit(1)
	}
}

// run prints the findings and returns their number. The working directory must be the root of the
// repository.
func run() (int, error) {
	rules, err := readFile(rulesFile, parseRules)
	if err != nil {
		return 0, err
	}
	exceptions, err := readFile(exceptionsFile, parseExceptions)
	if err != nil {
		return 0, err
	}
	files, err := checkedFiles()
	if err != nil {
		return 0, err
	}
	var findings []finding
	for _, file := range files {
		source, err := os.ReadFile(file)
		if os.IsNotExist(err) {
			continue // deleted, but still in the index
		}
		if err != nil {
			return 0, err
		}
		found, err := check(file, source, rules)
		if err != nil {
			return 0, err
		}
		findings = append(findings, found...)
	}
	findings, unused := exceptions.filter(findings)
	for _, f := range findings {
		fmt.Println(f)
	}
	for _, e := range unused {
		fmt.Printf("%s: %q in %s does not occur; remove the exception\n", exceptionsFile, e.word, e.file)
	}
	return len(findings) + len(unused), nil
}

// checked are the patterns of the files that are checked.
var checked = []string{
	"*.go", "*.md", "*.sh", "*.yaml", "*.yml", "*.toml", "*.spec", "*.service", "*.path", "*.link", "*.conf",
	"*.ks", "*.preset", "*.tmpfiles", "*Containerfile", "Makefile", ".ci/*",
}

// unchecked are directories with test data, with files of an OpenShift release, and with the rules.
var unchecked = []string{
	"testdata/", "/golden/", "internal/payload/files/", "internal/payload/units/", "test/words/words.txt",
}

// checkedFiles returns the paths of all tracked and new files that are checked.
func checkedFiles() ([]string, error) {
	arguments := append([]string{"ls-files", "--cached", "--others", "--exclude-standard", "--"}, checked...)
	out, err := exec.Command("git", arguments...).Output()
	if err != nil {
		return nil, fmt.Errorf("listing the files: %w", err)
	}
	return slices.DeleteFunc(strings.Fields(string(out)), func(file string) bool {
		return slices.ContainsFunc(unchecked, func(part string) bool { return strings.Contains(file, part) })
	}), nil
}

// readFile parses a file and adds its name to errors.
func readFile[T any](file string, parse func(string) (T, error)) (T, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		var none T
		return none, err
	}
	parsed, err := parse(string(content))
	if err != nil {
		return parsed, fmt.Errorf("%s:%w", file, err)
	}
	return parsed, nil
}
