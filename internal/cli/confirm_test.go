// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/test/pty"
)

func TestConfirmOnTerminal(t *testing.T) {
	for answer, want := range map[string]bool{
		"y\n":         true,
		"YES\n":       true,
		"n\n":         false,
		"\n":          false,
		"yesterday\n": false,
	} {
		var printed bytes.Buffer
		p := &Printer{Streams: Streams{In: pty.Input(t, answer), Err: &printed}}
		if got := p.Confirm("Really?"); got != want || printed.String() != "Really? [y/N] " {
			t.Errorf("answer %q: %t, want %t; printed %q", answer, got, want, &printed)
		}
	}
}

func TestConfirmWithoutTerminal(t *testing.T) {
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, p := range []*Printer{{Streams: Streams{In: file}}, {Streams: Streams{In: strings.NewReader("n\n")}}} {
		if !p.Confirm("Really?") { // would panic if it printed
			t.Error("no confirmation without a terminal")
		}
	}
}
