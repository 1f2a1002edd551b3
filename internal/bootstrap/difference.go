package bootstrap

import (
	"bytes"
	"fmt"
	"unicode"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/redact"
)

// maxText is how large a text may be to be compared, in bytes.
const maxText = 1 << 20

// difference shows what a change does to the text of a file, as `diff -u`
// would, without its secrets. Of a file that is a secret itself, or no text, it
// tells the sizes alone. It is "" where no content changes.
func difference(p ledger.Pending) string {
	now, want := p.Now.Content, p.Want.Content
	if p.Kind != ledger.File || (p.Want.Present && p.Want.Digest == "") || bytes.Equal(now, want) {
		return ""
	}
	sizes := fmt.Sprintf("%d -> %d bytes, changed", len(now), len(want))
	switch {
	case hidden(p):
		return "secret, " + sizes
	case len(now) > maxText || len(want) > maxText:
		return "large, " + sizes
	case !isText(now) || !isText(want):
		return "binary, " + sizes
	}
	// Secrets are masked before the texts are compared: a line of context, or
	// half of a key, would show them otherwise.
	before, after := redact.Text(string(now)), redact.Text(string(want))
	if before == after {
		return "only secrets in it differ, " + sizes
	}
	from, to := p.Target, p.Target
	if p.Now.Type != string(host.Regular) {
		from = "/dev/null"
	}
	if !p.Want.Present {
		to = "/dev/null"
	}
	return udiff.Unified(from, to, before, after)
}

// hidden tells whether a file, as it is or as it shall be, is a secret.
func hidden(p ledger.Pending) bool {
	for _, state := range []ledger.State{p.Now, p.Want} {
		var modes []uint32
		if state.Present && state.Mode != nil {
			modes = append(modes, *state.Mode)
		}
		if state.Present && redact.Secret(p.Target, state.Content, modes...) {
			return true
		}
	}
	return false
}

// isText tells whether a content can be shown on a terminal: characters that
// steer it could make it show something else than what is there.
func isText(content []byte) bool {
	content = bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n"))
	return utf8.Valid(content) && !bytes.ContainsFunc(content, func(r rune) bool {
		return unicode.IsControl(r) && r != '\t' && r != '\n' && r != '\f' || unicode.Is(unicode.Bidi_Control, r)
	})
}
