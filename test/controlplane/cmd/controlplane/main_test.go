// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/test/controlplane/internal/api"
)

// controlPlane is a running controlplane process.
type controlPlane struct {
	api.Document
	dir    string
	cmd    *exec.Cmd
	stdin  io.Closer
	stderr *bytes.Buffer
}

// start builds missing binaries, starts the control plane and waits until it is ready.
func start(t *testing.T) *controlPlane {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("the control plane makes a network namespace: run this test as root")
	}
	build := exec.Command(filepath.Join("..", "..", "build.sh"))
	build.Stderr = os.Stderr
	bin, err := build.Output()
	if err != nil {
		t.Fatalf("building: %v", err)
	}
	dir := strings.TrimSpace(string(bin))
	c := &controlPlane{dir: t.TempDir(), stderr: &bytes.Buffer{}}
	c.cmd = exec.Command(filepath.Join(dir, "controlplane"), "--dir", c.dir, "--bin", dir, "--until-stdin-closes")
	c.cmd.Stderr = c.stderr
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.stdin.Close()
		_ = c.cmd.Wait() // the tests that stop the process themselves have checked the result
	})
	if err := json.NewDecoder(stdout).Decode(&c.Document); err != nil {
		c.stdin.Close()
		_ = c.cmd.Wait()
		t.Fatalf("no document: %v\n%s", err, c.stderr)
	}
	t.Logf("ready after (seconds): %v", c.StartSeconds)
	return c
}

// processes returns the executables, by process ID, of all processes whose command line contains
// the directory.
func (c *controlPlane) processes(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err == nil && bytes.Contains(line, []byte(c.dir)) {
			found[filepath.Base(filepath.Dir(file))] = strings.Split(string(line), "\x00")[0]
		}
	}
	return found
}
