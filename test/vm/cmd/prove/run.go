// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// runner runs tests and targets of the Makefile, whose output it writes to files.
type runner struct {
	repository string
	logs       string // directory
	timeout    time.Duration
	listed     map[string]bool // names of the variables in the list of tests
}

// job is a test in virtual machines, or a target of the Makefile that runs beside them.
type job struct {
	name   string // unique
	test   *machineTest
	target string
}

// notInSlug matches the parts of a job's name that its files do not have in their names.
var notInSlug = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

// slug returns the name of the files of a job.
func (j job) slug() string { return notInSlug.ReplaceAllString(j.name, "_") }

func (r *runner) log(j job) string { return filepath.Join(r.logs, j.slug()+".log") }

// build compiles the tests of packages below test/vm.
func (r *runner) build(ctx context.Context, directory string) error {
	command := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-ldflags=-w", "-tags", "vm", "-o",
		r.program(directory), "./"+directory)
	command.Dir = r.repository
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("compiling the tests of %s: %w:\n%s", directory, err, out)
	}
	return nil
}

func (r *runner) program(directory string) string {
	return filepath.Join(r.logs, filepath.Base(directory)+".test")
}

// run runs a job and returns an error if it fails.
func (r *runner) run(ctx context.Context, j job) error {
	command := exec.CommandContext(ctx, "make", j.target)
	command.Dir = r.repository
	if j.test != nil {
		directory := filepath.Join(r.repository, j.test.Directory())
		command = exec.CommandContext(ctx, r.program(directory), "-test.run", "^"+j.test.Name+"$", "-test.v",
			"-test.timeout", r.timeout.String())
		command.Dir = directory
		command.Env = append(j.test.environment(os.Environ(), r.listed), "LOGS="+filepath.Join(r.logs, j.slug()))
	}
	log, err := os.Create(r.log(j))
	if err != nil {
		return err
	}
	defer log.Close()
	command.Stdout, command.Stderr = log, log
	// An interrupt must end the processes that the job has started, too.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGTERM) }
	if err := command.Run(); err != nil {
		return fmt.Errorf("%s: %w", j.name, err)
	}
	if j.test == nil {
		return nil
	}
	return checkOutput(log.Name(), j.test.Name)
}

// checkOutput returns an error unless the output of a test shows that it has passed completely: a test that was
// skipped, and one that does not exist, also exit with 0.
func checkOutput(path, test string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if skipped := regexp.MustCompile(`(?m)^ *--- SKIP: .*`).Find(content); skipped != nil {
		return fmt.Errorf("%s was not run completely: %s", test, strings.TrimSpace(string(skipped)))
	}
	if !strings.Contains("\n"+string(content), "\n--- PASS: "+test+" (") {
		return fmt.Errorf("%s was not run: its output is in %s", test, path)
	}
	return nil
}

// printLog copies the output of a job to w.
func (r *runner) printLog(w io.Writer, j job) error {
	log, err := os.Open(r.log(j))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer log.Close()
	_, err = io.Copy(w, log)
	return err
}

// lockLogs makes the directory of the programs and the logs, and locks it until the file is closed. It fails if another
// call of the command uses the directory.
func lockLogs(directory string) (*os.File, error) {
	if err := os.MkdirAll(directory, 0o750); err != nil {
		return nil, err
	}
	lock, err := os.Open(directory)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		err = fmt.Errorf("another run uses %s: wait until it ends, or use another clone: %w", directory, err)
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}
