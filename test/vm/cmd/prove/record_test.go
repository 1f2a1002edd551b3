// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var now = time.Date(2030, 6, 20, 12, 0, 0, 0, time.UTC)

func passedDaysAgo(id string, days int) proof {
	return proof{Test: id, Passed: true, Date: now.AddDate(0, 0, -days), Commit: "0123456789", Inputs: "abc", Seconds: 60}
}

func TestRecordIsWrittenAsRead(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "test/vm"), 0o750); err != nil {
		t.Fatal(err)
	}
	tests := []machineTest{{Name: "TestB", Variables: []string{"K=1"}}, {Name: "TestA"}, {Name: "TestNeverRun"}}
	record := map[string]proof{
		"TestA": passedDaysAgo("TestA", 1), "TestB K=1": {Test: "TestB K=1", Date: now, Commit: "1"},
	}
	removed := passedDaysAgo("TestRemoved", 1)
	if err := writeRecord(dir, tests, map[string]proof{
		"TestA": record["TestA"], "TestB K=1": record["TestB K=1"], "TestRemoved": removed,
	}); err != nil {
		t.Fatal(err)
	}
	got, err := readRecord(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(record, got); diff != "" {
		t.Errorf("the record that was read (-want +got):\n%s", diff)
	}
}

func TestParseProofRefusesOtherLines(t *testing.T) {
	for _, line := range []string{
		"", "TestA", "TestA\tskipped\t2030-01-01T00:00:00Z\t1\t2\t3", "TestA\tpassed\tyesterday\t1\t2\t3",
		"TestA\tpassed\t2030-01-01T00:00:00Z\t1\t2\tlong",
	} {
		if p, err := parseProof(line); err == nil {
			t.Errorf("%q was parsed as %v", line, p)
		}
	}
}

func TestMissing(t *testing.T) {
	failed := passedDaysAgo("TestA", 0)
	failed.Passed = false
	var days []string // a commit on each of the last days but two, and two today
	for ago := range 20 {
		if ago != 2 && ago != 3 {
			days = append(days, now.AddDate(0, 0, -ago).Format(time.DateOnly))
		}
	}
	days = append(days, now.Format(time.DateOnly))
	for name, test := range map[string]struct {
		last    *proof
		missing bool
	}{
		"never run":             {nil, true},
		"passed today":          {ptr(passedDaysAgo("TestA", 0)), false},
		"passed 12 days ago":    {ptr(passedDaysAgo("TestA", 12)), false},
		"passed 13 days ago":    {ptr(passedDaysAgo("TestA", 13)), true},
		"last run today failed": {&failed, true},
	} {
		record := map[string]proof{}
		if test.last != nil {
			record["TestA"] = *test.last
		}
		if why := missing(machineTest{Name: "TestA"}, record, days); (why != "") != test.missing {
			t.Errorf("%s: missing because %q", name, why)
		}
	}
}

func ptr(p proof) *proof { return &p }

func TestOrder(t *testing.T) {
	failed := passedDaysAgo("TestFailed", 0)
	failed.Passed, failed.Seconds = false, 10
	short := passedDaysAgo("TestOld", 5)
	short.Seconds = 30
	record := map[string]proof{"TestFailed": failed, "TestOld": short, "TestRecent": passedDaysAgo("TestRecent", 1)}
	tests := []machineTest{{Name: "TestRecent"}, {Name: "TestFailed"}, {Name: "TestOld"}, {Name: "TestNeverRun"}}
	names := func() []string {
		var names []string
		for _, test := range tests {
			names = append(names, test.Name)
		}
		return names
	}
	byNeed(tests, record)
	if want := []string{"TestFailed", "TestNeverRun", "TestOld", "TestRecent"}; !slices.Equal(names(), want) {
		t.Errorf("by need: %v, want %v", names(), want)
	}
	byDuration(tests, record)
	if want := []string{"TestNeverRun", "TestRecent", "TestOld", "TestFailed"}; !slices.Equal(names(), want) {
		t.Errorf("by duration: %v, want %v", names(), want)
	}
}
