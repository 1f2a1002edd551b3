// SPDX-License-Identifier: Apache-2.0

// Package redact masks secrets in text that the agent prints: differences of files, errors, findings,
// settings, and log lines of other programs.
//
// It recognizes secrets by their form and by the name before them: private keys, tokens, passwords and
// pull secrets. In doubt it masks, because a text with too little information is harmless. Files that
// are secret as a whole (see IsSecretFile) must not be printed at all.
package redact

import "regexp"

// mask replaces a secret.
const mask = "***"

// privateKey matches a private key in PEM, whose end can be truncated.
var privateKey = regexp.MustCompile(
	`(?s)-----BEGIN ([A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?)-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\z)`)

// Text returns text with its secrets masked. Lines without a secret remain unchanged, so
// that two masked texts can be compared line by line.
func Text(text string) string {
	text = privateKey.ReplaceAllString(text, "("+mask+" ${1})")
	text = maskNested(text)
	text = maskNamed(text)
	return maskForms(text)
}
