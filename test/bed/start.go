// SPDX-License-Identifier: Apache-2.0

// Package bed runs the hosted control plane of test/controlplane for tests, and simulates faults
// of its Ignition server. It uses only the standard library, because the control plane is a
// binary of another module.
package bed

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// Options configure a control plane. Dir is required.
type Options struct {
	// Bin is the directory that test/controlplane/build.sh prints. If it is empty, missing
	// binaries are built, which takes minutes the first time.
	Bin string
	// Dir is a directory for logs and state. Only Dir/logs is kept.
	Dir string
	// Name is the name of the hosted cluster. Default: "demo".
	Name string
	// Stack are the address families: ipv4, ipv6 or dual-ipv6. Default: ipv4.
	Stack string
}

// ControlPlane is a running control plane.
type ControlPlane struct {
	Document
	AdminClient

	command   *exec.Cmd
	stdin     io.Closer
	errors    *bytes.Buffer
	closeOnce sync.Once
	result    error
}

// Start starts a control plane and returns when it is ready, usually after some seconds. It needs
// root. ctx applies only to the start. The control plane runs until Close is called or this
// process ends, for whatever reason.
func Start(ctx context.Context, options Options) (*ControlPlane, error) {
	if options.Bin == "" {
		bin, err := Build(ctx)
		if err != nil {
			return nil, err
		}
		options.Bin = bin
	}
	args := []string{"--dir", options.Dir, "--bin", options.Bin, "--until-stdin-closes"}
	if options.Name != "" {
		args = append(args, "--name", options.Name)
	}
	if options.Stack != "" {
		args = append(args, "--stack", options.Stack)
	}
	c := &ControlPlane{errors: &bytes.Buffer{}}
	c.command = exec.Command(filepath.Join(options.Bin, "controlplane"), args...)
	c.command.Stderr = c.errors
	// The binary exits when its standard input is closed. A parent-death signal would depend on
	// the thread that started the binary, and would prevent a cleanup.
	stdin, err := c.command.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("starting the control plane: %w", err)
	}
	c.stdin = stdin
	stdout, err := c.command.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("starting the control plane: %w", err)
	}
	if err := c.command.Start(); err != nil {
		return nil, fmt.Errorf("starting the control plane: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { stdin.Close() })
	decoding := json.NewDecoder(stdout).Decode(&c.Document)
	if !stop() {
		return nil, errors.Join(fmt.Errorf("starting the control plane: %w", ctx.Err()), c.Close())
	}
	if decoding != nil {
		return nil, errors.Join(fmt.Errorf("waiting for the control plane's document: %w", decoding), c.Close())
	}
	c.AdminClient = AdminClient{url: c.AdminURL}
	return c, nil
}

// Close stops the control plane and waits until only its logs are left. The returned error also
// covers earlier failures of the control plane.
func (c *ControlPlane) Close() error {
	c.closeOnce.Do(func() {
		_ = c.stdin.Close() // already closed if the start was canceled
		if err := c.command.Wait(); err != nil {
			c.result = fmt.Errorf("the control plane ended with %w:\n%s", err, strings.TrimSpace(c.errors.String()))
		}
	})
	return c.result
}
