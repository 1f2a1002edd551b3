// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"encoding/xml"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

// Result is the result of a run.
type Result struct {
	plan
	groups []string
	tests  map[string]outcome // by the name of each test of plan.run
}

// outcome is how a test ended.
type outcome struct {
	passed  bool
	cause   string // the first line of the failure
	seconds float64
}

// junit has the fields of interest of Ginkgo's report.
type junit struct {
	Suites []struct {
		Cases []struct {
			Name    string  `xml:"name,attr"`
			Status  string  `xml:"status,attr"`
			Seconds float64 `xml:"time,attr"`
			Failure string  `xml:"failure"`
			Error   string  `xml:"error"`
		} `xml:"testcase"`
	} `xml:"testsuite"`
}

// readReport returns the result of planned tests from a JUnit file. A planned test that the file lacks has failed, and
// what failed outside of tests is an error.
func readReport(file string, p plan, groups []string) (*Result, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the results: %w", err)
	}
	var report junit
	if err := xml.Unmarshal(content, &report); err != nil {
		return nil, fmt.Errorf("decoding the results: %w", err)
	}
	r := &Result{plan: p, groups: groups, tests: map[string]outcome{}}
	for _, name := range p.run {
		r.tests[name] = outcome{cause: "was not run"}
	}
	for _, suite := range report.Suites {
		for _, test := range suite.Cases {
			name, isTest := strings.CutPrefix(test.Name, "[It] ")
			cause := firstLine(test.Failure + test.Error)
			_, planned := r.tests[name]
			switch {
			case isTest && planned && test.Status == "skipped":
				r.tests[name] = outcome{cause: "was skipped by the test itself"}
			case isTest && planned:
				r.tests[name] = outcome{passed: test.Status == "passed", cause: cause, seconds: test.Seconds}
			case test.Status != "passed" && test.Status != "skipped":
				return nil, fmt.Errorf("%s: %s: %s", test.Name, test.Status, cause)
			case isTest && test.Status != "skipped":
				return nil, fmt.Errorf("%s was run, which was not planned", test.Name)
			}
		}
	}
	return r, nil
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(line)
}

// Failures returns a line for each test that has not passed, sorted.
func (r *Result) Failures() []string {
	var failures []string
	for _, name := range slices.Sorted(maps.Keys(r.tests)) {
		if test := r.tests[name]; !test.passed {
			failures = append(failures, fmt.Sprintf("%s: %s", short(name), test.cause))
		}
	}
	return failures
}

// Markdown returns tables: the numbers of tests by group, the skipped ones by reason, and each test with its result.
func (r *Result) Markdown() string {
	var out strings.Builder
	out.WriteString("| group | tests | run | passed | failed | skipped | only with CONFORMANCE=all |\n" +
		"|---|---|---|---|---|---|---|\n")
	for _, group := range r.groups {
		in := func(names []string) int {
			return len(slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !strings.HasPrefix(name, group) }))
		}
		run, rest, skipped := in(r.run), in(r.rest), in(slices.Concat(slices.Collect(maps.Values(r.skipped))...))
		passed := in(slices.DeleteFunc(slices.Clone(r.run), func(name string) bool { return !r.tests[name].passed }))
		fmt.Fprintf(&out, "| %s | %d | %d | %d | %d | %d | %d |\n", strings.Trim(group, "[]"), run+rest+skipped, run, passed,
			run-passed, skipped, rest)
	}
	if len(r.skipped) > 0 {
		out.WriteString("\n| skipped | why |\n|---|---|\n")
	}
	for _, reason := range slices.Sorted(maps.Keys(r.skipped)) {
		for _, name := range r.skipped[reason] {
			fmt.Fprintf(&out, "| %s | %s |\n", short(name), reason)
		}
	}
	out.WriteString("\n| test | result | time |\n|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(r.tests)) {
		test := r.tests[name]
		result := "passed"
		if !test.passed {
			result = "failed: " + strings.ReplaceAll(test.cause, "|", "\\|")
		}
		took := time.Duration(test.seconds * float64(time.Second)).Round(time.Second)
		fmt.Fprintf(&out, "| %s | %s | %s |\n", short(name), result, took)
	}
	return out.String()
}

// short returns the name of a test without the labels that all have.
func short(name string) string {
	for _, label := range []string{" [Conformance]", " [NodeConformance]"} {
		name = strings.ReplaceAll(name, label, "")
	}
	return name
}
