// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func TestStopCleansUp(t *testing.T) {
	for _, test := range []struct {
		name string
		stop func(*controlPlane) error
		runs bool // the run directory can remain, because the process could not remove it
	}{
		{"standard input ends", func(c *controlPlane) error { return c.stdin.Close() }, false},
		{"SIGTERM", func(c *controlPlane) error { return c.cmd.Process.Signal(syscall.SIGTERM) }, false},
		{"SIGINT", func(c *controlPlane) error { return c.cmd.Process.Signal(syscall.SIGINT) }, false},
		{"SIGKILL", func(c *controlPlane) error { return c.cmd.Process.Kill() }, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := start(t)
			if n := len(c.processes(t)); n < 6 {
				t.Fatalf("%d processes run, want etcd, three of Kubernetes, dnsmasq and the program itself", n)
			}
			if err := test.stop(c); err != nil {
				t.Fatal(err)
			}
			if err := c.cmd.Wait(); err != nil && !test.runs {
				t.Errorf("ended with %v\n%s", err, c.stderr)
			}
			c.expectCleanedUp(t, test.runs)
		})
	}
}

func TestExitsWhenComponentExits(t *testing.T) {
	c := start(t)
	for id, name := range c.processes(t) {
		if filepath.Base(name) != "etcd" {
			continue
		}
		pid, err := strconv.Atoi(id)
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.cmd.Wait(); err == nil ||
		!strings.Contains(c.stderr.String(), "etcd exited unexpectedly (signal: killed)") {
		t.Errorf("ended with %v:\n%s", err, c.stderr)
	}
	c.expectCleanedUp(t, false)
}

func (c *controlPlane) expectCleanedUp(t *testing.T, runDirectory bool) {
	t.Helper()
	// The kernel kills the children of a killed process. When they leave the process table
	// depends on the process that inherits them.
	until(t, "waiting for the end of all processes", func() (any, bool) {
		running := c.processes(t)
		return running, len(running) == 0
	})
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if entry.Name() == "logs" || entry.Name() == "run" && runDirectory {
			continue
		}
		t.Errorf("%s is left", entry.Name())
	}
	if _, err := os.Stat(c.Netns); err == nil {
		t.Errorf("the namespace %s is left", c.Netns)
	}
	for _, address := range []string{
		c.APIForward, c.IgnitionForward, c.RegistryForward, strings.TrimPrefix(c.AdminURL, "http://"),
	} {
		if conn, err := net.Dial("tcp4", address); err == nil {
			conn.Close()
			t.Errorf("%s still answers", address)
		}
	}
}
