// SPDX-License-Identifier: Apache-2.0

//go:build vm

package e2e

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
)

// TestAcceptance runs the command that tests a real host, over ssh and the uplink, as its user does. A host that is not
// idle is refused, and an interrupted run restores the host.
func TestAcceptance(t *testing.T) {
	ctx := newContext(t)
	program, err := testenv.BuildAcceptance(ctx, "../../..", t.TempDir())
	must(t, err)
	before := hostState(ctx, t)

	mustOutput(ctx, t, "ip link add br-ex type dummy")
	_, err = runAcceptance(ctx, t, program, nil)
	mustOutput(ctx, t, "ip link delete br-ex; ! ls -d /root/hcp-node-agent-acceptance")
	if err == nil {
		t.Error("a host with a bridge br-ex is not refused")
	}

	report, err := runAcceptance(ctx, t, program, nil)
	if err != nil {
		t.Errorf("the run ended with %v:\n%s", err, report)
	}
	checkContains(t, report, "Outcome: passed.", "| pod |", "| leave |", "are as before.")
	checkHostState(ctx, t, before)

	report, err = runAcceptance(ctx, t, program, func(line string) bool { return strings.HasPrefix(line, "== status") })
	if err == nil {
		t.Error("an interrupted run succeeds")
	}
	checkContains(t, report, "**not passed**, interrupted.", "are as before.")
	checkHostState(ctx, t, before)
}

// runAcceptance runs the command in the network of the machine, and returns its report. It interrupts the command after
// a line of its output.
func runAcceptance(
	ctx context.Context, t *testing.T, program string, interruptAfter func(line string) bool,
) (string, error) {
	t.Helper()
	dir := t.TempDir()
	command, err := environment.Acceptance(ctx, program, dir, "-join-options", "--network-timeout "+testenv.NetworkTimeout)
	must(t, err)
	output := &watchedOutput{w: t.Output()}
	if interruptAfter != nil {
		output.matches = interruptAfter
		output.then = func() { must(t, command.Process.Signal(os.Interrupt)) }
	}
	command.Stdout, command.Stderr = output, t.Output()
	err = command.Run()
	report, readErr := os.ReadFile(filepath.Join(dir, "report.md"))
	if readErr != nil && !os.IsNotExist(readErr) {
		t.Fatal(readErr)
	}
	return string(report), err
}

// watchedOutput copies what is written to w, and calls a function once after the first line that matches.
type watchedOutput struct {
	w       io.Writer
	matches func(line string) bool
	then    func()
	rest    []byte
}

func (o *watchedOutput) Write(content []byte) (int, error) {
	o.rest = append(o.rest, content...)
	for {
		line, rest, found := bytes.Cut(o.rest, []byte("\n"))
		if !found {
			return o.w.Write(content)
		}
		o.rest = rest
		if o.matches != nil && o.matches(string(line)) {
			o.matches = nil
			o.then()
		}
	}
}
