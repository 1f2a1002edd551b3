// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// renderScreen renders out as a terminal does. It supports moving up and erasing whole lines.
// Lines longer than width are wrapped, and wrapped again when the width changes.
func renderScreen(out string, width int) []string {
	lines := []string{""}
	for out != "" {
		switch {
		case strings.HasPrefix(out, "\r\x1b[J"):
			lines[len(lines)-1], out = "", out[4:]
		case strings.HasPrefix(out, "\x1b["):
			rows, rest, _ := strings.Cut(out[2:], "A")
			n, _ := strconv.Atoi(rows)
			lines, out = lines[:len(lines)-n], rest
		case out[0] == '\n':
			lines, out = append(lines, ""), out[1:]
		default:
			letter, size := utf8.DecodeRuneInString(out)
			if displayWidth(lines[len(lines)-1]) == width {
				lines = append(lines, "")
			}
			lines[len(lines)-1] += string(letter)
			out = out[size:]
		}
	}
	return slices.DeleteFunc(lines, func(line string) bool { return line == "" })
}

// The live line shows each second the running step, the awaited condition, the next attempt
// and the elapsed time. When a wait ends, its message and remedy disappear.
func TestLiveLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		terminal := &Terminal{W: &out, Symbols: Unicode()}
		expect := func(want ...string) {
			t.Helper()
			synctest.Wait()
			terminal.mutex.Lock()
			defer terminal.mutex.Unlock()
			if diff := cmp.Diff(want, renderScreen(out.String(), 80)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
		terminal.Emit(Event{Kind: StepStarted, Step: "fetch"})
		expect("  … fetch                                                                  0:00")
		time.Sleep(61 * time.Second)
		terminal.Emit(Event{
			Kind:    Waiting,
			Step:    "fetch",
			Message: "waiting for the server",
			RetryAt: time.Now().Add(4 * time.Second),
		})
		expect("  … fetch               waiting for the server              retry in 0:04  1:01")
		time.Sleep(3 * time.Second)
		expect("  … fetch               waiting for the server              retry in 0:01  1:04")
		time.Sleep(3 * time.Second)
		expect("  … fetch               waiting for the server                             1:07")
		terminal.Emit(Event{Kind: Warning, Step: "fetch", Message: "the server is slow"})
		terminal.Emit(Event{
			Kind:    Waiting,
			Step:    "fetch",
			Message: "waiting for the server to start",
			Remedy:  "systemctl start server",
		})
		expect("      ! the server is slow", "    waiting for the server to start", "# remedy:", "systemctl start server",
			"  … fetch                                                                  1:07")
		terminal.Emit(Event{Kind: Warning, Step: "fetch", Message: "the server is new"})
		terminal.Emit(Event{
			Kind:    StepDone,
			Step:    "fetch",
			Message: "54 files, sha256 1e240c6f3b5a7d9e1e240c6f3b5a7d9e",
			Elapsed: 67 * time.Second,
		})
		fetched := []string{
			"      ! the server is slow",
			"  ✓ fetch               54 files, sha256 1e240c6f…                         1m7s", "      ! the server is new",
		}
		expect(fetched...)
		terminal.Emit(Event{Kind: StepStarted, Step: "client-certificate"})
		wait := Event{
			Kind: Waiting, Step: "client-certificate",
			Message: "waiting for approval of client CSR node-csr-HRsxdx9sKb1u8wl29l7qtAtT3LoenduyQtt1axnSBpY for worker-0",
			Remedy: "# on the hosted cluster, run:\noc adm certificate approve " +
				"node-csr-HRsxdx9sKb1u8wl29l7qtAtT3LoenduyQtt1axnSBpY",
		}
		terminal.Emit(wait)
		terminal.Emit(wait)
		time.Sleep(time.Hour)
		block := append(slices.Clone(fetched),
			"    waiting for approval of client CSR",
			"    node-csr-HRsxdx9sKb1u8wl29l7qtAtT3LoenduyQtt1axnSBpY for worker-0",
			"# remedy: on the hosted cluster, run:",
			"oc adm certificate approve node-csr-HRsxdx9sKb1u8wl29l7qtAtT3LoenduyQtt1axnSBpY")
		expect(append(slices.Clone(block),
			"  … client-certificate                                                  1:00:00")...)
		terminal.Emit(Event{
			Kind:    StepFailed,
			Step:    "client-certificate",
			Message: "denied",
			Elapsed: time.Second,
			Remedy:  "oc get csr",
		})
		expect(append(fetched, "  ✗ client-certificate  denied                                             1.0s",
			"# remedy:", "oc get csr")...)
	})
}

// After an interruption, the last message and its remedy remain on the screen.
func TestStopKeepsRemedy(t *testing.T) {
	var out bytes.Buffer
	terminal := &Terminal{W: &out, Symbols: ASCII()}
	terminal.Emit(Event{Kind: StepStarted, Step: "kubelet"})
	terminal.Emit(Event{Kind: Warning, Step: "kubelet", Message: "kubelet is old"})
	terminal.Emit(Event{Kind: Waiting, Step: "kubelet", Message: "waiting for kubelet", Remedy: "journalctl -u kubelet"})
	terminal.Emit(Event{Kind: Warning, Step: "kubelet", Message: "kubelet is slow"})
	terminal.Stop()
	want := []string{
		"      ! kubelet is old", "    waiting for kubelet", "# remedy:", "journalctl -u kubelet", "      ! kubelet is slow",
	}
	if diff := cmp.Diff(want, renderScreen(out.String(), 80)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// On a terminal that is or becomes narrow, no line is wrapped, and the previous line is
// erased.
func TestLiveLineOnNarrowTerminals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for width := range 130 {
			if width == 0 {
				continue
			}
			var out bytes.Buffer
			terminal := &Terminal{W: &out, Symbols: Unicode(), Size: func() (int, int) { return width, 24 }}
			terminal.Emit(Event{Kind: StepStarted, Step: "client-certificate"})
			terminal.Emit(Event{
				Kind:    Waiting,
				Step:    "client-certificate",
				Message: strings.Repeat("word ", 30),
				RetryAt: time.Now().Add(time.Hour),
			})
			lines := renderScreen(out.String(), width)
			if len(lines) != min(1, width-1) || width > 1 && displayWidth(lines[0]) >= width {
				t.Errorf("width %d: %q", width, lines)
			}
			terminal.Stop()
		}
		width := 100
		var out bytes.Buffer
		terminal := &Terminal{W: &out, Symbols: Unicode(), Size: func() (int, int) { return width, 24 }}
		terminal.Emit(Event{Kind: Note, Message: "above"})
		terminal.Emit(Event{Kind: StepStarted, Step: "client-certificate"})
		terminal.Emit(Event{Kind: Waiting, Step: "client-certificate", Message: strings.Repeat("word ", 30)})
		before := renderScreen(out.String(), width)
		if len(before) != 2 || displayWidth(before[1]) != 99 {
			t.Fatalf("%q", before)
		}
		out.Reset()
		width = 40 // the terminal wraps the 99 columns into three rows
		letters := []rune(before[1])
		for i := 0; i < 99; i += 40 {
			out.WriteString(string(letters[i:min(i+40, len(letters))]) + "\n")
		}
		out.Truncate(out.Len() - 1)
		terminal.Emit(Event{Kind: StepDone, Step: "client-certificate", Message: "it exists"})
		diff := cmp.Diff([]string{"  ✓ client-certificate", "    it exists                      0.0s"},
			renderScreen(out.String(), width))
		if diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestDetailsNeedVerbose(t *testing.T) {
	for verbose, want := range map[bool]string{true: "      - changed file /a\n", false: ""} {
		var out bytes.Buffer
		Log{Sink: &Terminal{W: &out, Symbols: ASCII(), Verbose: verbose}, Step: "files"}.Changed("file", "/a")
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("verbose %t (-want +got):\n%s", verbose, diff)
		}
	}
}

func TestWrap(t *testing.T) {
	for text, want := range map[string][]string{
		"": {""}, "one": {"one"}, "one two": {"one two"}, "one two three": {"one two", "three"},
		"a abcdefghij b": {"a", "abcdefghij", "b"}, "äöü äöü äöü": {"äöü äöü", "äöü"},
	} {
		if diff := cmp.Diff(want, wrapHanging("", "", text, 7)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}
