// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"strings"
)

// Result is the result of a command in the machine.
type Result struct {
	Stdout, Stderr string
	ExitCode       int
}

// Run runs a shell command as root and waits for it. A failed command is not an error; see
// [Channel.RunStream] for errors.
func (c *Channel) Run(ctx context.Context, command string) (Result, error) {
	var out, errs bytes.Buffer
	code, err := c.RunStream(ctx, command, nil, &out, &errs)
	if err != nil {
		err = fmt.Errorf("%w: %s", err, errs.String())
	}
	return Result{Stdout: out.String(), Stderr: errs.String(), ExitCode: code}, err
}

// Output runs a shell command that must succeed. It returns the output without the final newline.
func (c *Channel) Output(ctx context.Context, command string) (string, error) {
	result, err := c.Run(ctx, command)
	if err == nil && result.ExitCode != 0 {
		err = fmt.Errorf("running %q in the machine: exit code %d: %s%s",
			command, result.ExitCode, result.Stdout, result.Stderr)
	}
	return strings.TrimSuffix(result.Stdout, "\n"), err
}

// Put writes a file in the machine atomically and creates its directory if necessary. The file is
// not flushed to disk: a power cut can lose it.
func (c *Channel) Put(ctx context.Context, path string, content io.Reader, mode fs.FileMode) error {
	p := Quote(path)
	command := fmt.Sprintf("set -e; mkdir -p \"$(dirname %s)\"; cat >%s.put; chmod %04o %s.put; mv %s.put %s",
		p, p, mode.Perm(), p, p, p)
	var errs bytes.Buffer
	code, err := c.RunStream(ctx, command, content, nil, &errs)
	if err == nil && code != 0 {
		err = fmt.Errorf("exit code %d", code)
	}
	if err != nil {
		return fmt.Errorf("putting %s into the machine: %w: %s", path, err, errs.String())
	}
	return nil
}

// Get returns the content of a file in the machine.
func (c *Channel) Get(ctx context.Context, path string) ([]byte, error) {
	result, err := c.Run(ctx, "cat "+Quote(path))
	if err == nil && result.ExitCode != 0 {
		err = fmt.Errorf("exit code %d: %s", result.ExitCode, result.Stderr)
	}
	if err != nil {
		return nil, fmt.Errorf("getting %s from the machine: %w", path, err)
	}
	return []byte(result.Stdout), nil
}

// Quote quotes s as one word for a POSIX shell.
func Quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
