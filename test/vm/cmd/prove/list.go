// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// listFile lists the tests in virtual machines.
const listFile = "test/vm/tests.txt"

// The kinds of tests, by what runs them.
const (
	kindQuick = "quick" // make test-vm, thus .ci/run
	kindSlow  = "slow"  // make prove and make test-all
	kindSoak  = "soak"  // make soak
)

// A machineTest is a test in virtual machines.
type machineTest struct {
	Name      string   // of the function
	Package   string   // directory below test/vm
	Kind      string   // one of the constants
	Variables []string // of the environment, NAME=VALUE
}

// ID returns the name and the variables, which identify the test in the record of proofs.
func (t machineTest) ID() string {
	return strings.Join(append([]string{t.Name}, t.Variables...), " ")
}

// Directory returns the package's directory in the repository.
func (t machineTest) Directory() string { return filepath.Join("test/vm", t.Package) }

// listedVariables returns the names of the variables in the list. They select variants of tests.
func listedVariables(tests []machineTest) map[string]bool {
	names := map[string]bool{}
	for _, test := range tests {
		for _, variable := range test.Variables {
			name, _, _ := strings.Cut(variable, "=")
			names[name] = true
		}
	}
	return names
}

// environment returns the variables of the environment of a test. Those in the list are not inherited, or another
// variant would run than the one that is recorded; only soak tests, which are not recorded, take them from the caller.
func (t machineTest) environment(inherited []string, listed map[string]bool) []string {
	variables := slices.DeleteFunc(slices.Clone(inherited), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return t.Kind != kindSoak && listed[name]
	})
	return append(variables, t.Variables...)
}

// readTests reads the list of tests of a repository.
func readTests(repository string) ([]machineTest, error) {
	content, err := os.ReadFile(filepath.Join(repository, listFile))
	if err != nil {
		return nil, fmt.Errorf("reading the list of tests: %w", err)
	}
	return parseTests(string(content))
}

// parseTests parses the list of tests: lines of NAME PACKAGE KIND [VARIABLE=VALUE...].
func parseTests(content string) ([]machineTest, error) {
	var tests []machineTest
	seen := map[string]bool{}
	number := 0
	for line := range strings.Lines(content) {
		number++
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(line, "#") {
			continue
		}
		if len(fields) < 3 || !slices.Contains([]string{kindQuick, kindSlow, kindSoak}, fields[2]) {
			return nil, fmt.Errorf("%s:%d: %q, want: NAME PACKAGE KIND [VARIABLE=VALUE...]", listFile, number, line)
		}
		test := machineTest{Name: fields[0], Package: fields[1], Kind: fields[2], Variables: fields[3:]}
		if seen[test.ID()] {
			return nil, fmt.Errorf("%s:%d: %s has two lines", listFile, number, test.ID())
		}
		seen[test.ID()] = true
		tests = append(tests, test)
	}
	return tests, nil
}
