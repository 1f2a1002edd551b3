// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"bytes"
	"fmt"
	"unicode"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/redact"
)

// maxDiffSize is the maximum size in bytes of a text that is compared.
const maxDiffSize = 1 << 20

// textDiff returns a unified diff of the change to a text file, with secrets
// masked. For files that are secret, binary or larger than maxDiffSize it returns
// only the sizes. It returns "" if the content does not change.
func textDiff(p ledger.PlannedChange) string {
	now, want := p.Now.Content, p.Desired.Content
	if p.Kind != ledger.File || (p.Desired.Present && p.Desired.Digest == "") || bytes.Equal(now, want) {
		return ""
	}
	sizes := fmt.Sprintf("%d -> %d bytes, changed", len(now), len(want))
	switch {
	case isSecretFile(p):
		return "secret, " + sizes
	case len(now) > maxDiffSize || len(want) > maxDiffSize:
		return "large, " + sizes
	case !isText(now) || !isText(want):
		return "binary, " + sizes
	}
	// Mask secrets before the comparison: a context line, or a hunk that contains only
	// part of a key, would otherwise reveal them.
	before, after := redact.Text(string(now)), redact.Text(string(want))
	if before == after {
		return "only secrets differ, " + sizes
	}
	from, to := p.Target, p.Target
	if p.Now.Type != hostfs.Regular {
		from = "/dev/null"
	}
	if !p.Desired.Present {
		to = "/dev/null"
	}
	return udiff.Unified(from, to, before, after)
}

// isSecretFile reports whether the current or the desired state of the file is a
// secret.
func isSecretFile(p ledger.PlannedChange) bool {
	for _, state := range []ledger.State{p.Now, p.Desired} {
		var modes []uint32
		if state.Present && state.Mode != nil {
			modes = append(modes, *state.Mode)
		}
		if state.Present && redact.IsSecretFile(p.Target, state.Content, modes...) {
			return true
		}
	}
	return false
}

// isText reports whether content is text that is safe to print on a terminal.
// Control characters could make the terminal display something other than the
// content.
func isText(content []byte) bool {
	content = bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n"))
	return utf8.Valid(content) && !bytes.ContainsFunc(content, func(r rune) bool {
		return unicode.IsControl(r) && r != '\t' && r != '\n' && r != '\f' || unicode.Is(unicode.Bidi_Control, r)
	})
}
