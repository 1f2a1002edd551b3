// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-systemd/v22/journal"
	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// TestMain runs the agent if the test binary is called by the agent's name, for shells that
// complete command lines. In the terminal of TestScreen it replays a join, one event for each
// line that is typed.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == programName {
		main() // for a shell that completes a command line
	}
	if os.Getenv("SCREEN") == "" {
		os.Exit(m.Run())
	}
	p := newPrinter(cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	p.BindFlags(&cobra.Command{})
	p.Open()
	lines := bufio.NewScanner(os.Stdin)
	for _, event := range replayedEvents() {
		p.Sink.Emit(event)
		lines.Scan()
	}
}

func replayedEvents() []report.Event {
	const csr = "node-csr-HRsxdx9sKb1u8wl29l7qtAtT3LoenduyQtt1axnSBpY"
	const fingerprint = "SHA256:6e8dec6feb603a43925b8f607399f3daf6f0211133da4b397d97fa2f54562ab0"
	events := []report.Event{
		{
			Kind:    report.Headline,
			Message: "joining worker-0 to NodePool clusters/demo-workers through ignition.demo.example.com:443",
		},
		{Kind: report.StepStarted, Step: "preflight"},
		{
			Kind:    report.Warning,
			Step:    "preflight",
			Message: "swap is on (/dev/vda2); kubelet does not start with it",
			Remedy:  "swapoff -a",
		},
		{Kind: report.StepUnchanged, Step: "preflight", Message: "18 checks, 1 warning", Elapsed: 1400 * time.Millisecond},
		{Kind: report.StepStarted, Step: "fetch"},
		{
			Kind:    report.Waiting,
			Step:    "fetch",
			Message: "waiting for the ignition server ignition.demo.example.com: connection refused",
			RetryAt: time.Now().Add(100 * time.Hour),
		},
		{
			Kind:    report.StepDone,
			Step:    "fetch",
			Message: "54 files, 25 units, 136 kB from ignition.demo.example.com",
			Elapsed: 400 * time.Millisecond,
		},
		{Kind: report.StepStarted, Step: "client-certificate"},
		{
			Kind: report.Waiting, Step: "client-certificate",
			Message: "waiting for approval of client CSR " + csr + " for system:node:worker-0 (key " + fingerprint + ")",
			Remedy: "# on platform None no controller approves it; run on the hosted cluster:\noc adm certificate approve " +
				csr,
		},
		{
			Kind: report.StepFailed, Step: "client-certificate", Elapsed: 130 * time.Second,
			Message: "the client CSR " + csr + " was denied by an administrator: unknown machine",
			Remedy:  "hcp-node-agent join # submits a new CSR",
		},
	}
	for i := range events {
		events[i].Time = time.Date(2026, 1, 2, 3, 4, i, 0, time.UTC)
	}
	return events
}

// The log of the same join in a pipe and in the journal.
func TestLogOfJoin(t *testing.T) {
	var pipe, entries bytes.Buffer
	send := func(message string, priority journal.Priority, _ map[string]string) error {
		fmt.Fprintf(&entries, "<%d> %s\n", priority, message)
		return nil
	}
	for _, sink := range []report.Sink{
		&report.Lines{W: &pipe},
		report.Journal{Identifier: programName, Send: send},
	} {
		for _, event := range replayedEvents() {
			sink.Emit(event)
		}
	}
	checkGolden(t, filepath.Join("testdata", "screen", "pipe.txt"), pipe.Bytes())
	checkGolden(t, filepath.Join("testdata", "screen", "journal.txt"), entries.Bytes())
}

// The output of a join on a real terminal, tmux, is compared at three times: at usual widths,
// in a narrow window, and in a window that becomes narrower during a step.
func TestScreen(t *testing.T) {
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Fatalf("%v; make deps installs what tests need", err)
	}
	for name, test := range map[string]struct{ width, then int }{
		"80":      {80, 80},
		"120":     {120, 120},
		"narrow":  {48, 48},
		"resized": {100, 60},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScreen(t, test.width)
			s.expect(name + "-1") // the process reads events from now on
			for _, moment := range []int{6, 9, 10} {
				for ; s.emitted < moment; s.emitted++ {
					s.tmux("send-keys", "-t", "s", "Enter")
				}
				if moment == 6 && test.then != test.width {
					s.expect(name + "-before")
					s.tmux("resize-window", "-t", "s", "-x", strconv.Itoa(test.then), "-y", "40")
				}
				s.expect(name + "-" + strconv.Itoa(moment))
			}
		})
	}
}

type screen struct {
	*testing.T
	socket  string
	emitted int
}

func newScreen(t *testing.T, width int) *screen {
	s := &screen{T: t, socket: filepath.Join(t.TempDir(), "tmux"), emitted: 1}
	t.Setenv("TMUX_TMPDIR", filepath.Dir(s.socket))
	command := "stty -echo; exec env SCREEN=1 TERM=screen LC_ALL=C.UTF-8 NO_COLOR=1 " + os.Args[0]
	s.tmux("-f", "/dev/null", "new-session", "-d", "-s", "s", "-x", strconv.Itoa(width), "-y", "40", command)
	t.Cleanup(func() { s.tmux("kill-server") })
	return s
}

func (s *screen) tmux(args ...string) string {
	s.Helper()
	command := exec.Command("tmux", append([]string{"-u", "-S", s.socket}, args...)...)
	out, err := command.CombinedOutput()
	if err != nil {
		s.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return string(out)
}

var clockPattern = regexp.MustCompile(`\b[0-9]:[0-9]{2}$|\b(99|100):[0-9]{2}:[0-9]{2}`)

// expect waits until the screen matches a file in testdata. With UPDATE, it writes the file when the screen is stable.
func (s *screen) expect(name string) {
	s.Helper()
	file := filepath.Join("testdata", "screen", name+".txt")
	want, err := os.ReadFile(file)
	if err != nil && os.Getenv("UPDATE") == "" {
		s.Fatal(err)
	}
	if os.Getenv("UPDATE") != "" {
		last, same := "", 0
		waittest.Until(s.T, "waiting until the screen is stable", func() (any, bool) {
			got := s.read()
			if same++; got != last {
				last, same = got, 0
			}
			return got, same == 100
		})
		want = []byte(last)
		if err := os.WriteFile(file, want, 0o600); err != nil {
			s.Fatal(err)
		}
	}
	waittest.Until(s.T, "waiting for the screen "+file+" (-want +got)", func() (any, bool) {
		got := s.read()
		return cmp.Diff(string(want), got), got == string(want)
	})
}

// read returns the content of the screen without times.
func (s *screen) read() string {
	s.Helper()
	var lines []string
	for line := range strings.Lines(s.tmux("capture-pane", "-p", "-S", "-", "-t", "s")) {
		line = strings.TrimRight(line, " \n")
		lines = append(lines, clockPattern.ReplaceAllStringFunc(line,
			func(clock string) string { return clock[:len(clock)-2] + "00" }))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n"
}
