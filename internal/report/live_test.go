package report

import (
	"bytes"
	"slices"
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
			n := int(out[2] - '0')
			lines, out = lines[:len(lines)-n], out[4:]
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
// and the elapsed time.
func TestLiveLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		face := &Text{W: &out, Live: true, Width: func() int { return 80 }}
		expect := func(want ...string) {
			t.Helper()
			synctest.Wait()
			face.mutex.Lock()
			defer face.mutex.Unlock()
			if diff := cmp.Diff(want, renderScreen(out.String(), 80)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
		face.Emit(Event{Kind: StepStarted, Step: "fetch"})
		expect("  ...   fetch                                                              0:00")
		time.Sleep(61 * time.Second)
		face.Emit(Event{Kind: Waiting, Step: "fetch", Message: "the server does not answer", RetryAt: time.Now().Add(4 * time.Second)})
		expect("  wait  fetch               the server does not answer      retry in 0:04  1:01")
		time.Sleep(3 * time.Second)
		expect("  wait  fetch               the server does not answer      retry in 0:01  1:04")
		time.Sleep(3 * time.Second)
		expect("  wait  fetch               the server does not answer                     1:07")
		face.Emit(Event{Kind: Waiting, Step: "fetch", Message: "the server does not answer", Remedy: "look"})
		face.Emit(Event{Kind: StepDone, Step: "fetch", Message: "54 files", Elapsed: 67 * time.Second})
		expect("  ok    fetch               54 files                                      67.0s")
		face.Emit(Event{Kind: StepStarted, Step: "client-certificate"})
		face.Emit(Event{Kind: Waiting, Step: "client-certificate", Message: "approval of the CSR node-csr-HRsxdx9sKb1u8wl29l7qtAtT3LoenduyQtt1axnSBpY for worker-0", Remedy: "oc adm certificate approve x"})
		time.Sleep(time.Hour)
		done := "  ok    fetch               54 files                                      67.0s"
		expect(done,
			"  wait  client-certificate  approval of the CSR",
			"                            node-csr-HRsxdx9sKb1u8wl29l7qtAtT3LoenduyQtt1axnSBpY",
			"                            for worker-0",
			"oc adm certificate approve x",
			"  wait  client-certificate                                              1:00:00")
		face.Stop()
		time.Sleep(time.Minute)
		expect(done,
			"  wait  client-certificate  approval of the CSR",
			"                            node-csr-HRsxdx9sKb1u8wl29l7qtAtT3LoenduyQtt1axnSBpY",
			"                            for worker-0",
			"oc adm certificate approve x")
	})
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
			face := &Text{W: &out, Live: true, Width: func() int { return width }}
			face.Emit(Event{Kind: StepStarted, Step: "client-certificate"})
			face.Emit(Event{Kind: Waiting, Step: "client-certificate", Message: strings.Repeat("word ", 30), RetryAt: time.Now().Add(time.Hour)})
			lines := renderScreen(out.String(), width)
			if len(lines) != min(1, width-1) || width > 1 && displayWidth(lines[0]) >= width {
				t.Errorf("width %d: %q", width, lines)
			}
			face.Stop()
		}
		width := 100
		var out bytes.Buffer
		face := &Text{W: &out, Live: true, Width: func() int { return width }}
		face.Emit(Event{Kind: Note, Message: "above"})
		face.Emit(Event{Kind: StepStarted, Step: "client-certificate"})
		face.Emit(Event{Kind: Waiting, Step: "client-certificate", Message: strings.Repeat("word ", 30)})
		before := renderScreen(out.String(), width)
		if len(before) != 2 || displayWidth(before[1]) != 99 {
			t.Fatalf("%q", before)
		}
		out.Reset()
		width = 40 // the terminal wraps the 99 columns into three rows
		for i := 0; i < 99; i += 40 {
			out.WriteString(before[1][i:min(i+40, len(before[1]))] + "\n")
		}
		out.Truncate(out.Len() - 1)
		face.Emit(Event{Kind: StepDone, Step: "client-certificate", Message: "it is there"})
		if diff := cmp.Diff([]string{"  ok    client-certificate", "    it is there 0.0s"}, renderScreen(out.String(), width)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestDetailsNeedVerbose(t *testing.T) {
	for verbose, want := range map[bool]string{true: "          detail            changed file /a\n", false: ""} {
		var out bytes.Buffer
		Log{Sink: &Text{W: &out, Verbose: verbose}, Step: "files"}.Changed("file", "/a")
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("verbose %t (-want +got):\n%s", verbose, diff)
		}
	}
}

func TestWrap(t *testing.T) {
	for text, want := range map[string][]string{
		"": {""}, "one": {"one"}, "one two": {"one two"}, "one two three": {"one two", "three"}, "a abcdefghij b": {"a", "abcdefghij", "b"}, "äöü äöü äöü": {"äöü äöü", "äöü"},
	} {
		if diff := cmp.Diff(want, wrap(text, 7)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}
