// SPDX-License-Identifier: Apache-2.0

// Command prove runs the tests in virtual machines that test/vm/tests.txt lists, and keeps the record of their last
// runs, test/vm/proofs.tsv. A test whose inputs are unchanged since it passed on this machine is not run again.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "prove:", err)
		os.Exit(1)
	}
}

func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var o options
	list := flag.Bool("list", false, "print the record and exit")
	check := flag.Bool("check", false, "fail unless each test has passed within the last 10 days with commits, and exit")
	flag.StringVar(&o.kinds, "kinds", kindQuick, "kinds of the tests to run, separated by commas")
	flag.StringVar(&o.pattern, "tests", "", "run only tests that match this expression, of all kinds")
	flag.StringVar(&o.beside, "beside", "", "targets of the Makefile to run beside the tests, separated by blanks")
	flag.IntVar(&o.jobs, "jobs", 2, "how many jobs run at a time; an emulated machine uses a processor")
	flag.BoolVar(&o.force, "force", false, "run also what has passed on this machine with the same inputs")
	flag.BoolVar(&o.record, "record", false, "write the results to the record, the oldest or missing proofs first")
	flag.DurationVar(&o.budget, "budget", 0, "start no job after this time; 0 is no limit")
	flag.DurationVar(&o.timeout, "timeout", 5*time.Hour, "end a test that hangs after this time")
	flag.Parse()
	repository, err := os.Getwd()
	if err != nil {
		return err
	}
	tests, err := readTests(repository)
	if err != nil {
		return err
	}
	record, err := readRecord(repository)
	if err != nil {
		return err
	}
	s := session{options: o, repository: repository, tests: tests, record: record, out: os.Stdout}
	switch {
	case *list:
		return s.list(ctx)
	case *check:
		return s.check(ctx)
	}
	return s.run(ctx)
}
