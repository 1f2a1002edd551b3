// SPDX-License-Identifier: Apache-2.0

// Package redact masks secrets in texts that are shown to people: the differences of a
// plan, and the contents of a support bundle.
//
// It recognizes secrets by their format and by the names before them. In doubt it masks,
// because a text with too little information is harmless. Files that are secret as a whole
// (see IsSecretFile) must not be shown at all.
package redact

import (
	"regexp"
	"strings"
)

// logPrefix matches the prefix that journald and other logs write before a line.
const logPrefix = `(?:[^\n]{0,120}: )?`

// Mask replaces a secret.
const Mask = "***"

var (
	privateKey = regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\z)`)
	// privateTail matches the end of a key whose beginning was truncated.
	privateTail = regexp.MustCompile(`(?m)(?:^` + logPrefix + `[A-Za-z0-9+/=]{1,76}[ \t\r]*\n)+` + logPrefix + `-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----`)
	// publicBlock matches a certificate or public key: long base64, but not secret.
	publicBlock = regexp.MustCompile(`-----BEGIN [A-Z0-9 ]+-----[A-Za-z0-9+/=\s\\]*-----END [A-Z0-9 ]+-----`)
)

// Text returns text with its secrets masked. Lines without a secret remain unchanged, so
// that two masked texts can be compared line by line.
func Text(text string) string {
	text = privateKey.ReplaceAllStringFunc(text, func(block string) string {
		begin, _, _ := strings.Cut(strings.TrimPrefix(block, "-----BEGIN "), "-----")
		return "(" + Mask + " " + begin + ")"
	})
	if strings.Contains(text, "PRIVATE KEY") { // rare, and the pattern is slow
		text = privateTail.ReplaceAllString(text, "("+Mask+" PRIVATE KEY)")
	}
	var out strings.Builder
	at := 0
	for _, block := range publicBlock.FindAllStringIndex(text, -1) {
		out.WriteString(maskPlain(text[at:block[0]]))
		out.WriteString(text[block[0]:block[1]])
		at = block[1]
	}
	out.WriteString(maskPlain(text[at:]))
	return out.String()
}

// maskPlain masks the secrets of a text without PEM blocks.
func maskPlain(text string) string {
	text = replaceSections(text, maskValue)
	text = maskNested(text)
	text = replaceNamedPairs(text, maskValue)
	text = replaceKeyValues(text, maskValue)
	text = maskShapes(text)
	text = maskCommands(text)
	text = maskWords(text)
	text = maskEncodings(text)
	return maskContinuation(text)
}
