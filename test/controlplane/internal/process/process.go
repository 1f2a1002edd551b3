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
	"slices"
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
	children []*child
	stopping bool
}

// child is a started process.
type child struct {
	name, path string
	args       []string
	cmd        *exec.Cmd
	exited     chan struct{}
	expected   bool // its exit is no failure
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
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644) //nolint:gosec // a log of tests
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
	c := &child{name: name, path: path, args: args, cmd: cmd, exited: make(chan struct{})}
	g.children = append(g.children, c)
	g.exits.Add(1)
	go g.watch(c, logPath)
	return nil
}

// Restart kills a child and starts it again with the same arguments.
func (g *Group) Restart(name string) error {
	g.mu.Lock()
	at := slices.IndexFunc(g.children, func(c *child) bool { return c.name == name && !c.expected })
	if at < 0 {
		g.mu.Unlock()
		return fmt.Errorf("restarting %s: it was not started", name)
	}
	c := g.children[at]
	c.expected = true
	err := c.cmd.Process.Kill()
	g.mu.Unlock()
	if err != nil {
		return fmt.Errorf("stopping %s: %w", name, err)
	}
	<-c.exited
	return g.Start(name, c.path, c.args...)
}

func (g *Group) watch(c *child, logPath string) {
	defer g.exits.Done()
	defer close(c.exited)
	err := c.cmd.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stopping || c.expected {
		return
	}
	outcome := "exit status 0"
	if err != nil {
		outcome = err.Error()
	}
	select {
	case g.failed <- fmt.Errorf("%s exited unexpectedly (%s); the end of %s:\n%s", c.name, outcome, logPath,
		tail(logPath, 20)):
	default:
	}
}

// Stop kills every child and waits for them. No child has children of its own. A graceful
// shutdown is not needed, because their state is discarded.
func (g *Group) Stop() {
	g.mu.Lock()
	g.stopping = true
	for _, c := range g.children {
		_ = c.cmd.Process.Kill() // an error means that the process has exited
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
