// SPDX-License-Identifier: Apache-2.0

// Package process runs the control plane's child processes. Each has a log file, is monitored,
// and is killed on stop.
package process

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// Group is a set of child processes that start and stop together.
type Group struct {
	logs   string
	start  func(*exec.Cmd) error
	failed chan error
	exits  sync.WaitGroup

	mu       sync.Mutex
	children []*exec.Cmd
	stopping bool
}

// NewGroup returns an empty group. Logs are written to LOGS/NAME.log; start starts a command, for
// example in a namespace.
func NewGroup(logs string, start func(*exec.Cmd) error) *Group {
	return &Group{logs: logs, start: start, failed: make(chan error, 1)}
}

// Failed returns a channel that receives an error with the end of the log when a child exits
// unexpectedly. Only the first failure is reported.
func (g *Group) Failed() <-chan error { return g.failed }

// Start starts one child in a process group of its own.
func (g *Group) Start(name, path string, args ...string) error {
	logPath := filepath.Join(g.logs, name+".log")
	log, err := os.Create(logPath)
	if err != nil {
		return fmt.Errorf("opening the log of %s: %w", name, err)
	}
	defer log.Close() // the child has its own descriptor
	cmd := exec.Command(path, args...)
	cmd.Stdout, cmd.Stderr = log, log
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stopping {
		return fmt.Errorf("starting %s: the control plane is being stopped", name)
	}
	if err := g.start(cmd); err != nil {
		return fmt.Errorf("starting %s: %w", name, err)
	}
	g.children = append(g.children, cmd)
	g.exits.Add(1)
	go g.watch(name, logPath, cmd)
	return nil
}

func (g *Group) watch(name, logPath string, cmd *exec.Cmd) {
	defer g.exits.Done()
	err := cmd.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stopping {
		return
	}
	outcome := "exit status 0"
	if err != nil {
		outcome = err.Error()
	}
	select {
	case g.failed <- fmt.Errorf("%s exited unexpectedly (%s); the end of %s:\n%s", name, outcome, logPath, tail(logPath, 20)):
	default:
	}
}

// Stop kills every child and waits for them. No child has children of its own. A graceful
// shutdown is not needed, because their state is discarded.
func (g *Group) Stop() {
	g.mu.Lock()
	g.stopping = true
	for _, cmd := range g.children {
		_ = cmd.Process.Kill() // an error means that the process has exited
	}
	g.mu.Unlock()
	g.exits.Wait()
}

// tail returns the last lines of a log.
func tail(path string, lines int) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(string(bytes.TrimSpace(content)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
