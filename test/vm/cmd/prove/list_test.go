// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const repository = "../../../.."

var testFunction = regexp.MustCompile(`(?m)^func (Test[A-Z]\w*)\(t \*testing\.T\)`)

// TestListIsComplete checks that each test in virtual machines has a line in tests.txt, with its package.
func TestListIsComplete(t *testing.T) {
	tests, err := readTests(repository)
	if err != nil {
		t.Fatal(err)
	}
	packages := taggedTests(t)
	listed := map[string]bool{}
	for _, test := range tests {
		listed[test.Name] = true
		if packages[test.Name] != test.Package {
			t.Errorf("%s has package %s for %s, want %q", listFile, test.Package, test.Name, packages[test.Name])
		}
	}
	for name := range packages {
		if !listed[name] {
			t.Errorf("%s is run by no target: add a line to %s", name, listFile)
		}
	}
}

// taggedTests returns the packages of the tests in the files with the build tag vm, by the name of the test.
func taggedTests(t *testing.T) map[string]string {
	t.Helper()
	packages := map[string]string{}
	root := filepath.Join(repository, "test/vm")
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(content, []byte("\n//go:build vm\n")) {
			return err
		}
		directory, err := filepath.Rel(root, filepath.Dir(path))
		for _, match := range testFunction.FindAllSubmatch(content, -1) {
			packages[string(match[1])] = directory
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return packages
}

// TestEnvironment checks that the caller's environment selects no variant of a test, except of soak tests.
func TestEnvironment(t *testing.T) {
	inherited := []string{"PATH=/bin", "KINDS=all", "THOROUGH=1"}
	listed := listedVariables([]machineTest{{Variables: []string{"KINDS=vlan"}}, {Variables: []string{"THOROUGH=1"}}})
	for _, test := range []struct {
		test machineTest
		want []string
	}{
		{machineTest{Kind: kindQuick, Variables: []string{"KINDS=vlan"}}, []string{"PATH=/bin", "KINDS=vlan"}},
		{machineTest{Kind: kindSlow}, []string{"PATH=/bin"}},
		{machineTest{Kind: kindSoak}, inherited},
	} {
		if got := test.test.environment(inherited, listed); !slices.Equal(got, test.want) {
			t.Errorf("%+v: %q, want %q", test.test, got, test.want)
		}
	}
}

func TestParseTests(t *testing.T) {
	for name, content := range map[string]string{
		"unknown kind":    "TestA e2e fast\n",
		"missing field":   "TestA e2e\n",
		"two same lines":  "TestA e2e quick\nTestA e2e slow\n",
		"same variables":  "TestA e2e quick A=1\nTestA e2e soak A=1\n",
		"not a test line": "TestA\n",
	} {
		if tests, err := parseTests(content); err == nil {
			t.Errorf("%s: parsed as %v", name, tests)
		}
	}
	tests, err := parseTests("# comment\n\nTestA e2e quick\nTestA e2e slow A=1 B=2\n")
	if err != nil || len(tests) != 2 || tests[1].ID() != "TestA A=1 B=2" {
		t.Errorf("got %v, %v", tests, err)
	}
}
