// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// recordFile is the record of proofs: the last run of each test in virtual machines.
const recordFile = "test/vm/proofs.tsv"

// maxProofAge is the maximum number of days with commits after the day of a proof. Days without commits do not count:
// a project that rests does not lose its proofs.
const maxProofAge = 10

const recordHeader = "# The last run of each test of tests.txt, written by make prove.\n" +
	"# TEST\tRESULT\tDATE\tCOMMIT\tINPUTS\tSECONDS\n"

// A proof describes the last run of a test.
type proof struct {
	Test    string // its ID
	Passed  bool
	Date    time.Time // of the end of the run
	Commit  string    // abbreviated
	Inputs  string    // abbreviated hash of what can change the result
	Seconds int       // duration
}

// readRecord reads the record of a repository, by the ID of the test.
func readRecord(repository string) (map[string]proof, error) {
	content, err := os.ReadFile(filepath.Join(repository, recordFile))
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]proof{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the record of proofs: %w", err)
	}
	record := map[string]proof{}
	for line := range strings.Lines(string(content)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		p, err := parseProof(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return nil, err
		}
		record[p.Test] = p
	}
	return record, nil
}

func parseProof(line string) (proof, error) {
	fields := strings.Split(line, "\t")
	if len(fields) != 6 || fields[1] != "passed" && fields[1] != "failed" {
		return proof{}, fmt.Errorf("%s: cannot parse line %q", recordFile, line)
	}
	date, dateErr := time.Parse(time.RFC3339, fields[2])
	seconds, secondsErr := strconv.Atoi(fields[5])
	if err := cmp.Or(dateErr, secondsErr); err != nil {
		return proof{}, fmt.Errorf("%s: line %q: %w", recordFile, line, err)
	}
	return proof{
		Test: fields[0], Passed: fields[1] == "passed", Date: date, Commit: fields[3], Inputs: fields[4], Seconds: seconds,
	}, nil
}

// result returns the second field of the line of the record.
func (p proof) result() string {
	if p.Passed {
		return "passed"
	}
	return "failed"
}

// String returns the line of the record, without a newline.
func (p proof) String() string {
	return strings.Join([]string{
		p.Test, p.result(), p.Date.UTC().Format(time.RFC3339), p.Commit, p.Inputs, strconv.Itoa(p.Seconds),
	}, "\t")
}

// writeRecord writes the record of the listed tests, sorted by ID, so that merges of two records rarely conflict.
func writeRecord(repository string, tests []machineTest, record map[string]proof) error {
	var lines []string
	for _, test := range tests {
		if p, ok := record[test.ID()]; ok {
			lines = append(lines, p.String()+"\n")
		}
	}
	slices.Sort(lines)
	path := filepath.Join(repository, recordFile)
	content := []byte(recordHeader + strings.Join(lines, ""))
	if err := os.WriteFile(path, content, 0o644); err != nil { //nolint:gosec // a file of the repository
		return fmt.Errorf("writing the record of proofs: %w", err)
	}
	return nil
}

// daysAfter returns the number of different days that are later than that of a time. Days are in the format 2006-01-02.
func daysAfter(date time.Time, days []string) int {
	later := map[string]bool{}
	for _, day := range days {
		if day > date.UTC().Format(time.DateOnly) {
			later[day] = true
		}
	}
	return len(later)
}

// missing returns why a test has no valid proof, or "" if it has one. The days are those with commits.
func missing(test machineTest, record map[string]proof, days []string) string {
	p, ok := record[test.ID()]
	switch {
	case !ok:
		return "never run"
	case !p.Passed:
		return "failed at " + p.Commit
	case daysAfter(p.Date, days) > maxProofAge:
		return fmt.Sprintf("passed %d days with commits ago", daysAfter(p.Date, days))
	}
	return ""
}

// byNeed sorts tests for make prove: those without a passed run first, then the oldest proof first.
func byNeed(tests []machineTest, record map[string]proof) {
	date := func(test machineTest) time.Time {
		if p := record[test.ID()]; p.Passed {
			return p.Date
		}
		return time.Time{}
	}
	slices.SortStableFunc(tests, func(a, b machineTest) int { return date(a).Compare(date(b)) })
}

// byDuration sorts tests so that the longest come first, and those whose duration is unknown before them.
func byDuration(tests []machineTest, record map[string]proof) {
	seconds := func(test machineTest) int {
		return cmp.Or(record[test.ID()].Seconds, 1<<30)
	}
	slices.SortStableFunc(tests, func(a, b machineTest) int { return cmp.Compare(seconds(b), seconds(a)) })
}
