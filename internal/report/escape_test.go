// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"github.com/coreos/go-systemd/v22/journal"
)

func TestEscape(t *testing.T) {
	for text, want := range map[string]string{
		"plain, Grüße — “…”\n\tnext":       "plain, Grüße — “…”\n\tnext",
		`C:\x1b`:                           `C:\x1b`,
		"\x1b[2J\x1b[1;1Happroved":         `\x1b[2J\x1b[1;1Happroved`,
		"x\rapproved worker-9":             `x\rapproved worker-9`,
		"a\x00\a\b\x7fb":                   `a\x00\a\b\x7fb`,
		"\u009b2J":                         `\u009b2J`,
		"a\u202egpj.exe\u2066":             `a\u202egpj.exe\u2066`,
		"zero\u200bwidth\u2028line":        `zero\u200bwidth\u2028line`,
		"cut \xe2\x80 and \xff and \ufffd": `cut \xe2\x80 and \xff and ` + "\ufffd",
	} {
		if got := Escape(text); got != want {
			t.Errorf("Escape(%q) = %q, want %q", text, got, want)
		}
		var out bytes.Buffer
		if n, err := fmt.Fprintf(EscapeWriter{W: &out}, "%s", text); err != nil || n != len(text) || out.String() != want {
			t.Errorf("writing %q: %d, %v, %q", text, n, err, out.String())
		}
	}
	if got := EscapeLine("a\n  + /etc/b\r"); got != `a\n  + /etc/b\r` {
		t.Errorf("EscapeLine() = %q", got)
	}
}

// No content of an event can control the terminal. The only escape sequences are the colors
// of the text and the updates of the live line.
func TestEventsCannotControlTerminal(t *testing.T) {
	const evil = "a\x1b[2Jb\rc\u202e"
	for kind := range map[EventKind]bool{
		Headline:      true,
		Waiting:       true,
		Note:          true,
		Detail:        true,
		Warning:       true,
		CommandFailed: true,
		StepDone:      true,
		StepFailed:    true,
	} {
		var screen, lines bytes.Buffer
		terminal := &Terminal{W: &screen, Symbols: ASCII(), Verbose: true}
		for _, sink := range []Sink{terminal, &Lines{W: &lines, Level: slog.LevelDebug}} {
			sink.Emit(Event{Kind: kind, Step: "fetch" + evil, Message: evil, Remedy: "run " + evil})
			sink.Emit(Event{Kind: Waiting, Step: "fetch" + evil, Message: evil})
		}
		terminal.Stop()
		for _, out := range []string{screen.String(), lines.String()} {
			rest := regexp.MustCompile(`(\x1b\[[0-9]+A)?\r\x1b\[J`).ReplaceAllString(out, "")
			if strings.ContainsAny(rest, "\x1b\r\u202e") || !strings.Contains(rest, `a\x1b[2Jb\rc\u202e`) {
				t.Errorf("%s: %q", kind, out)
			}
		}
	}
	var sent string
	log := Journal{Send: func(message string, _ journal.Priority, _ map[string]string) error {
		sent = message
		return nil
	}}
	log.Emit(Event{Kind: Note, Message: evil, Remedy: "run " + evil})
	if sent != `a\x1b[2Jb\rc\u202e`+"\n"+`run a\x1b[2Jb\rc\u202e` {
		t.Errorf("the journal gets %q", sent)
	}
}

// A document for a terminal contains no character that controls it, and the same values.
func TestJSONCannotControlTerminal(t *testing.T) {
	const hostile = "\x1b[2J\x7f\u009b2J\u202e\u2028\U000e0001 Grüße <&> “…”"
	var out bytes.Buffer
	if err := WriteJSON(&out, map[string]string{"a": hostile}); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(out.String(), "\x1b\x7f\u009b\u202e\u2028\U000e0001") ||
		!strings.Contains(out.String(), "Grüße <&> “…”") {
		t.Errorf("%q", out.String())
	}
	var read map[string]string
	if err := json.Unmarshal(out.Bytes(), &read); err != nil || read["a"] != hostile {
		t.Errorf("%v, %q", err, read["a"])
	}
}

func TestShortenKeepsCharactersWhole(t *testing.T) {
	for limit := 3; limit < 12; limit++ {
		if got := Shorten("ééééé", limit); len(got) > limit || strings.ContainsRune(got, '\uFFFD') {
			t.Errorf("to %d bytes: %q", limit, got)
		}
	}
	if got := Shorten("short", 5); got != "short" {
		t.Errorf("shortened to %q", got)
	}
}
