// Package bed runs the miniature hosted control plane of test/controlplane for
// tests and makes its ignition server misbehave. It uses the standard library
// only: the control plane is a program of another module.
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

// Options say how the control plane runs. Dir is needed.
type Options struct {
	// Bin is the folder that test/controlplane/build.sh printed; empty builds
	// what is missing, which takes minutes the first time.
	Bin string
	// Dir is a folder for logs and state. Only DIR/logs is left afterwards.
	Dir string
	// Name is the hosted cluster's; empty is "demo".
	Name string
}

// ControlPlane is a running one.
type ControlPlane struct {
	Document
	Switchboard

	command *exec.Cmd
	stdin   io.Closer
	errors  *bytes.Buffer
	close   sync.Once
	outcome error
}

// Start starts a control plane and returns when it is ready, after some
// seconds. It needs root. ctx bounds the start only: Close ends the control
// plane, and so does the end of this process, however it ends.
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
	c := &ControlPlane{errors: &bytes.Buffer{}}
	c.command = exec.Command(filepath.Join(options.Bin, "controlplane"), args...)
	c.command.Stderr = c.errors
	// The program ends when its standard input does. Unlike a parent-death
	// signal, which is tied to whichever thread happened to start the program,
	// this is exact, and lets it clean up.
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
	c.Switchboard = Switchboard{url: c.AdminURL}
	return c, nil
}

// Close stops the control plane and waits until nothing of it is left but
// logs. The error tells what went wrong with the control plane, also before.
func (c *ControlPlane) Close() error {
	c.close.Do(func() {
		_ = c.stdin.Close() // closed already when the start was given up
		if err := c.command.Wait(); err != nil {
			c.outcome = fmt.Errorf("the control plane ended with %w:\n%s", err, strings.TrimSpace(c.errors.String()))
		}
	})
	return c.outcome
}
