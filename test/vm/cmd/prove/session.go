// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// options are the flags of the command.
type options struct {
	kinds, pattern, beside string
	jobs                   int
	force, record          bool
	budget, timeout        time.Duration
}

// session is one call of the command.
type session struct {
	options
	repository string
	tests      []machineTest
	record     map[string]proof
	out        io.Writer
}

// run runs the selected tests, and the targets beside them.
func (s *session) run(ctx context.Context) error {
	selected, err := s.selected()
	if err != nil {
		return err
	}
	commit, err := s.commit(ctx)
	if err != nil {
		return err
	}
	passed, err := openPassed(ctx, s.repository)
	if err != nil {
		return err
	}
	r := &runner{
		repository: s.repository, logs: filepath.Join(s.repository, "build", "vm"), timeout: s.timeout,
		listed: listedVariables(s.tests),
	}
	lock, err := lockLogs(r.logs)
	if err != nil {
		return err
	}
	defer lock.Close()
	var jobs []job
	for _, target := range strings.Fields(s.beside) {
		jobs = append(jobs, job{name: "make " + target, target: target})
	}
	var results []result
	inputs := map[string]string{} // by package
	for _, test := range selected {
		if inputs[test.Package] == "" {
			if inputs[test.Package], err = s.hashInputs(ctx, test); err != nil {
				return err
			}
		}
		earlier, ok, err := passed.find(test, inputs[test.Package])
		if err != nil {
			return err
		}
		if ok && s.reuses(earlier) {
			results = append(results, cachedResult(test, earlier))
			s.record[test.ID()] = earlier
			continue
		}
		jobs = append(jobs, job{name: test.ID(), test: &test})
	}
	if err := s.build(ctx, r, jobs); err != nil {
		return err
	}
	var failures []error
	plan := schedule{
		slots: s.jobs, budget: s.budget, keepGoing: s.options.record, now: time.Now, run: r.run, out: s.out,
		done: func(ended result) {
			results = append(results, ended)
			if ctx.Err() == nil { // an interrupted run proves nothing
				failures = append(failures, s.finish(r, passed, ended, commit, inputs))
			}
		},
	}
	left := plan.start(ctx, jobs)
	printTimes(s.out, results, left)
	if s.options.record {
		failures = append(failures, writeRecord(s.repository, s.tests, s.record))
	}
	if ctx.Err() != nil {
		failures = append(failures, context.Cause(ctx))
	}
	return errors.Join(failures...)
}

// reuses reports whether an earlier passed run replaces another one. For the record, it must be newer than the recorded
// run: otherwise the test was selected to renew its proof.
func (s *session) reuses(earlier proof) bool {
	return !s.force && (!s.options.record || earlier.Date.After(s.record[earlier.Test].Date))
}

// selected returns the tests to run, in their order.
func (s *session) selected() ([]machineTest, error) {
	pattern, err := regexp.Compile(s.pattern)
	if err != nil {
		return nil, fmt.Errorf("parsing -tests: %w", err)
	}
	kinds := strings.Split(s.kinds, ",")
	var tests []machineTest
	for _, test := range s.tests {
		if s.pattern == "" && slices.Contains(kinds, test.Kind) || s.pattern != "" && pattern.MatchString(test.ID()) {
			tests = append(tests, test)
		}
	}
	if len(tests) == 0 {
		return nil, fmt.Errorf("%s has no test that matches %q", listFile, s.pattern)
	}
	byDuration(tests, s.record)
	if s.options.record {
		byNeed(tests, s.record)
	}
	return tests, nil
}

// commit returns the abbreviated checked out commit. For the record, there must be no other changes.
func (s *session) commit(ctx context.Context) (string, error) {
	commit, err := output(ctx, s.repository, "git", "rev-parse", "--short=10", "HEAD")
	if err != nil {
		return "", err
	}
	changes, err := output(ctx, s.repository, "git", "status", "--porcelain", "--", ".", ":!"+recordFile)
	if err != nil {
		return "", err
	}
	if changes != "" && s.options.record {
		return "", fmt.Errorf("the record names commits, and there are changes that are not committed:\n%s", changes)
	}
	return strings.TrimSpace(commit), nil
}

func (s *session) hashInputs(ctx context.Context, test machineTest) (string, error) {
	files, err := inputFiles(ctx, s.repository, test.Directory())
	if err != nil {
		return "", err
	}
	return hashFiles(s.repository, files)
}

// build compiles the tests of the jobs.
func (s *session) build(ctx context.Context, r *runner, jobs []job) error {
	built := map[string]bool{}
	for _, j := range jobs {
		if j.test == nil || built[j.test.Directory()] {
			continue
		}
		built[j.test.Directory()] = true
		if err := r.build(ctx, j.test.Directory()); err != nil {
			return err
		}
	}
	return nil
}

// finish prints the end of a job, stores it, and returns its error.
func (s *session) finish(r *runner, passed passedTests, ended result, commit string, inputs map[string]string) error {
	outcome := "passed"
	if ended.err != nil {
		outcome = "FAILED"
	}
	fmt.Fprintf(s.out, "%s  %s    %s (%d s)\n", ended.ended.Format(time.TimeOnly), outcome, ended.job.name,
		int(ended.duration().Seconds()))
	var logErr error
	if ended.err != nil || ended.job.test == nil {
		logErr = r.printLog(s.out, ended.job)
	}
	if ended.job.test == nil {
		return errors.Join(ended.err, logErr)
	}
	p := proof{
		Test: ended.job.test.ID(), Passed: ended.err == nil, Date: ended.ended, Commit: commit,
		Inputs: inputs[ended.job.test.Package], Seconds: int(ended.duration().Seconds()),
	}
	s.record[p.Test] = p
	err := errors.Join(ended.err, logErr)
	if ended.err == nil {
		err = passed.add(*ended.job.test, p)
	}
	if s.options.record {
		err = errors.Join(err, writeRecord(s.repository, s.tests, s.record))
	}
	return err
}

func cachedResult(test machineTest, earlier proof) result {
	return result{
		job: job{name: test.ID(), test: &test}, cached: true, ended: earlier.Date,
		started: earlier.Date.Add(-time.Duration(earlier.Seconds) * time.Second),
	}
}

// printTimes prints a table of the durations of jobs.
func printTimes(w io.Writer, results []result, left int) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\nSECONDS\tRESULT\tJOB")
	for _, r := range results {
		outcome := "passed"
		switch {
		case r.cached:
			outcome = "passed before, inputs unchanged"
		case r.err != nil:
			outcome = "failed"
		}
		fmt.Fprintf(table, "%d\t%s\t%s\n", int(r.duration().Seconds()), outcome, r.job.name)
	}
	_ = table.Flush() // a failure to print changes no result
	if left > 0 {
		fmt.Fprintf(w, "%d jobs were not started\n", left)
	}
}

// list prints the record, the tests without a valid proof first.
func (s *session) list(ctx context.Context) error {
	now := time.Now()
	days, err := s.days(ctx)
	if err != nil {
		return err
	}
	byNeed(s.tests, s.record)
	table := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "TEST\tKIND\tRESULT\tDAYS\tCOMMITS\tSECONDS\tMISSING")
	for _, test := range s.tests {
		if test.Kind == kindSoak {
			continue
		}
		p, ok := s.record[test.ID()]
		if !ok {
			fmt.Fprintf(table, "%s\t%s\t-\t-\t-\t-\tnever run\n", test.ID(), test.Kind)
			continue
		}
		commits, err := output(ctx, s.repository, "git", "rev-list", "--count", p.Commit+"..HEAD")
		if err != nil {
			commits = "unknown" // the commit is in no branch of this clone
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%s\t%d\t%s\n", test.ID(), test.Kind, p.result(), int(now.Sub(p.Date).Hours()/24),
			strings.TrimSpace(commits), p.Seconds, missing(test, s.record, days))
	}
	return table.Flush()
}

// days returns the days with commits, one for each commit.
func (s *session) days(ctx context.Context) ([]string, error) {
	days, err := output(ctx, s.repository, "git", "log", "--date=format-local:%F", "--format=%cd")
	return strings.Fields(days), err
}

// check returns an error with the tests that have no valid proof.
func (s *session) check(ctx context.Context) error {
	days, err := s.days(ctx)
	if err != nil {
		return err
	}
	var unproven []string
	for _, test := range s.tests {
		if why := missing(test, s.record, days); why != "" && test.Kind != kindSoak {
			unproven = append(unproven, "  "+test.ID()+": "+why)
		}
	}
	if len(unproven) > 0 {
		return fmt.Errorf("these tests in virtual machines have no valid proof (make prove runs them):\n%s",
			strings.Join(unproven, "\n"))
	}
	return nil
}
