// SPDX-License-Identifier: Apache-2.0

// Package clitest contains the tests and helpers for command lines that hcp-node-agent and
// hcp-node-admin share.
package clitest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/schema"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// Program is the program under test.
type Program struct {
	Name      string
	Version   string
	Run       cli.RunFunc
	Root      func() *cobra.Command
	Documents []cli.DocumentKind
	Schemas   map[string]schema.Schema
	Variables string // prefix of the environment variables that the program reads; "" for none
}

// Result is the output and the exit code of one command line.
type Result struct {
	Code     report.Code
	Out, Err string
}

// Exec runs one command line as main does. It removes the program's environment variables and fails
// the test if a panic is printed.
func (p Program) Exec(t *testing.T, stdin string, args ...string) Result {
	t.Helper()
	return p.exec(t.Context(), t, stdin, func(string) {}, args)
}

// ExecUntil is Exec with a deadline that passes when the command prints text.
func (p Program) ExecUntil(t *testing.T, text string, args ...string) Result {
	t.Helper()
	ctx, pass := waittest.Deadline(t, fmt.Sprintf("waiting for %q in the output", text), nil)
	return p.exec(ctx, t, "", func(printed string) {
		if strings.Contains(printed, text) {
			pass()
		}
	}, args)
}

func (p Program) exec(
	ctx context.Context, t *testing.T, stdin string, onWrite func(printed string), args []string,
) Result {
	t.Helper()
	for _, variable := range os.Environ() {
		if name, value, _ := strings.Cut(variable, "="); p.Variables != "" && strings.HasPrefix(name, p.Variables) {
			t.Setenv(name, value) // restores the variable when the test ends
			if err := os.Unsetenv(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	out, err := output{onWrite: onWrite}, output{onWrite: onWrite}
	code := p.Run(ctx, args, cli.Streams{In: strings.NewReader(stdin), Out: &out, Err: &err})
	s := Result{Code: code, Out: out.String(), Err: err.String()}
	if c, _, notFound := p.Root().Find(args); notFound == nil && !slices.ContainsFunc(cli.ExitStatuses(c),
		func(exit report.ExitStatus) bool { return exit.Code == code }) {
		t.Errorf("%q exits with %d, which the help of %s does not list", args, code, c.CommandPath())
	}
	for _, trace := range []string{"goroutine ", "panic:", ".go:"} {
		if strings.Contains(s.Out+s.Err, trace) {
			t.Errorf("%q shows %q:\n%s%s", args, trace, s.Out, s.Err)
		}
	}
	return s
}

// output collects what a command prints, and passes it to onWrite each time.
type output struct {
	bytes.Buffer
	onWrite func(printed string)
}

func (o *output) Write(text []byte) (int, error) {
	n, err := o.Buffer.Write(text)
	o.onWrite(o.String())
	return n, err
}

// DecodeDocument parses out, which must be one JSON document.
func DecodeDocument(t *testing.T, out string) map[string]any {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(out))
	var document map[string]any
	if err := decoder.Decode(&document); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	if decoder.More() || !strings.HasSuffix(out, "}\n") {
		t.Errorf("there is more than one document: %q", out)
	}
	return document
}

// ParseLine parses a command line without running its command.
func (p Program) ParseLine(args []string) (*cobra.Command, error) {
	c, rest, err := p.Root().Find(args)
	if err != nil {
		return nil, err
	}
	if err := c.ParseFlags(rest); err != nil {
		return nil, err
	}
	return c, c.ValidateArgs(c.Flags().Args())
}
