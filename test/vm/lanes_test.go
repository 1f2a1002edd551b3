// SPDX-License-Identifier: Apache-2.0

package vm_test

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

var testFunction = regexp.MustCompile(`(?m)^func (Test[A-Z]\w*)\(t \*testing\.T\)`)

// TestLanes checks that each test in a virtual machine is in lanes.txt exactly once, and that the lanes are
// targets of the Makefile.
func TestLanes(t *testing.T) {
	makefile := readFile(t, "../../Makefile")
	tests := taggedTests(t)
	listed := map[string]bool{}
	for i, line := range strings.Split(readFile(t, "lanes.txt"), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Fields(line)
		if len(fields) != 3 || !slices.Contains([]string{"quick", "slow", "soak"}, fields[2]) {
			t.Errorf("lanes.txt:%d: %q, want: TEST LANE KIND", i+1, line)
			continue
		}
		name, lane := fields[0], fields[1]
		if listed[name] {
			t.Errorf("lanes.txt:%d: %s has two lines", i+1, name)
		}
		listed[name] = true
		if !slices.Contains(tests, name) {
			t.Errorf("lanes.txt:%d: there is no test %s with the build tag vm in test/vm", i+1, name)
		}
		if !regexp.MustCompile(`(?m)^(lane-\w+ )*lane-` + lane + `\b.*:`).MatchString(makefile) {
			t.Errorf("lanes.txt:%d: the Makefile has no target lane-%s", i+1, lane)
		}
	}
	for _, name := range tests {
		if !listed[name] {
			t.Errorf("%s is in no lane, so that no target runs it: add a line to test/vm/lanes.txt", name)
		}
	}
	for _, name := range regexp.MustCompile(`\bTest[A-Z]\w+`).FindAllString(makefile, -1) {
		isOther := name == "TestMain" || name == "TestFormat" // the latter are the tests of make formats
		if !isOther && !slices.Contains(tests, name) {
			t.Errorf("the Makefile names %s, which is no test of test/vm", name)
		}
	}
}

// taggedTests returns the names of the tests in the files with the build tag vm.
func taggedTests(t *testing.T) []string {
	t.Helper()
	var tests []string
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(content, []byte("\n//go:build vm\n")) {
			return err
		}
		for _, match := range testFunction.FindAllSubmatch(content, -1) {
			tests = append(tests, string(match[1]))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return tests
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
