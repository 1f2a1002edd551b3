// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"
)

// runSchedule runs n jobs, one at a time, each of which takes a minute on the schedule's clock and fails if fails
// contains its number. It returns the jobs that ran and the number of those that were not started.
func runSchedule(n int, budget time.Duration, keepGoing bool, fails ...int) (ran []string, left int) {
	clock := now
	s := schedule{
		slots: 1, budget: budget, keepGoing: keepGoing, out: io.Discard, now: func() time.Time { return clock },
		run: func(_ context.Context, j job) error {
			clock = clock.Add(time.Minute)
			if number, _ := strconv.Atoi(j.name); slices.Contains(fails, number) {
				return errors.New("failed on purpose")
			}
			return nil
		},
		done: func(r result) { ran = append(ran, r.job.name) },
	}
	var jobs []job
	for i := range n {
		jobs = append(jobs, job{name: strconv.Itoa(i), test: &machineTest{}})
	}
	return ran, s.start(context.Background(), jobs)
}

func TestSchedule(t *testing.T) {
	for name, test := range map[string]struct {
		budget    time.Duration
		keepGoing bool
		fails     []int
		started   int
	}{
		"all pass":                         {started: 5},
		"stops after a failure":            {fails: []int{1}, started: 2},
		"records all in spite of failures": {keepGoing: true, fails: []int{1}, started: 5},
		"budget":                           {budget: 150 * time.Second, started: 3},
	} {
		ran, left := runSchedule(5, test.budget, test.keepGoing, test.fails...)
		if len(ran) != test.started || left != 5-test.started {
			t.Errorf("%s: jobs %v ran and %d were not started, want %d to run", name, ran, left, test.started)
		}
	}
}

// TestScheduleUsesSlots checks that two jobs run at the same time: each waits for the other.
func TestScheduleUsesSlots(t *testing.T) {
	meet := make(chan struct{})
	s := schedule{
		slots: 2, out: io.Discard, now: time.Now, done: func(result) {},
		run: func(_ context.Context, j job) error {
			if j.name == "first" {
				meet <- struct{}{}
			} else {
				<-meet
			}
			return nil
		},
	}
	s.start(t.Context(), []job{{name: "first", test: &machineTest{}}, {name: "second", test: &machineTest{}}})
}

// TestScheduleRunsOneTargetAtATime checks that the second of two targets starts after the first one has ended, and that
// a test runs beside the first one: it ends only after the test has started.
func TestScheduleRunsOneTargetAtATime(t *testing.T) {
	testRuns := make(chan struct{})
	var running atomic.Int32
	s := schedule{
		slots: 2, out: io.Discard, now: time.Now, done: func(result) {},
		run: func(_ context.Context, j job) error {
			switch {
			case j.test != nil:
				close(testRuns)
				return nil
			case running.Add(1) > 1:
				t.Errorf("%s runs beside another target", j.name)
			}
			<-testRuns
			running.Add(-1)
			return nil
		},
	}
	left := s.start(t.Context(), []job{{name: "lint"}, {name: "test"}, {name: "TestA", test: &machineTest{}}})
	if left != 0 {
		t.Errorf("%d jobs were not started", left)
	}
}

func TestCheckOutput(t *testing.T) {
	for name, test := range map[string]struct {
		output string
		passed bool
	}{
		"passed":          {"=== RUN   TestA\n--- PASS: TestA (1.00s)\nPASS\n", true},
		"skipped":         {"=== RUN   TestA\n--- SKIP: TestA (0.00s)\nPASS\n", false},
		"part skipped":    {"--- PASS: TestA (1.00s)\n    --- SKIP: TestA/part (0.00s)\nPASS\n", false},
		"does not exist":  {"testing: warning: no tests to run\nPASS\n", false},
		"another test":    {"--- PASS: TestAB (1.00s)\nPASS\n", false},
		"only in a quote": {"    a_test.go:1: --- PASS: TestA (1.00s)\nPASS\n", false},
	} {
		path := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(path, []byte(test.output), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := checkOutput(path, "TestA"); (err == nil) != test.passed {
			t.Errorf("%s: %v", name, err)
		}
	}
}
