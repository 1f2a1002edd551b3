// Package redact takes secrets out of texts that are shown to people: the
// differences of a plan, what goes into a bundle for support.
//
// It knows secrets by their form and by the names that stand before them. Where
// it is in doubt, it masks: a text that says too little does no harm. What is a
// secret as a whole (see Secret) is not to be shown at all.
package redact

import (
	"regexp"
	"strings"
)

// logPrefix matches what journald and other logs write before a line.
const logPrefix = `(?:[^\n]{0,120}: )?`

// Mask is what stands in the place of a secret.
const Mask = "***"

var (
	privateKey = regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\z)`)
	// privateTail is the end of a key whose beginning was cut off.
	privateTail = regexp.MustCompile(`(?m)(?:^` + logPrefix + `[A-Za-z0-9+/=]{1,76}[ \t\r]*\n)+` + logPrefix + `-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----`)
	// publicBlock is a certificate or public key: long base64, and no secret.
	publicBlock = regexp.MustCompile(`-----BEGIN [A-Z0-9 ]+-----[A-Za-z0-9+/=\s\\]*-----END [A-Z0-9 ]+-----`)
)

// Text gives a text with its secrets masked. Lines without one stay as they
// are, so that two masked texts can be compared line by line.
func Text(text string) string {
	text = privateKey.ReplaceAllStringFunc(text, func(block string) string {
		begin, _, _ := strings.Cut(strings.TrimPrefix(block, "-----BEGIN "), "-----")
		return "(" + Mask + " " + begin + ")"
	})
	if strings.Contains(text, "PRIVATE KEY") { // few texts have one, and the pattern is slow
		text = privateTail.ReplaceAllString(text, "("+Mask+" PRIVATE KEY)")
	}
	var out strings.Builder
	at := 0
	for _, block := range publicBlock.FindAllStringIndex(text, -1) {
		out.WriteString(plain(text[at:block[0]]))
		out.WriteString(text[block[0]:block[1]])
		at = block[1]
	}
	out.WriteString(plain(text[at:]))
	return out.String()
}

// plain masks a text that has no PEM in it.
func plain(text string) string {
	text = sections(text)
	text = nested(text)
	text = named(text)
	text = keyed(text)
	text = shapes(text)
	text = commands(text)
	text = encodings(text)
	return continued(text)
}
