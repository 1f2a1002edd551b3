// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"encoding/base64"
	"encoding/hex"
	"regexp"
	"strings"
)

var (
	bootstrapToken = regexp.MustCompile(`(^|[^A-Za-z0-9._/-])([a-z0-9]{6}\.)([a-z0-9]{16})($|[^A-Za-z0-9._/-])`)
	// encodedURL matches an encoded URL inside a URL, up to its @. Separators of words and
	// paths do not precede the @.
	encodedURL  = regexp.MustCompile(`(?i)(%3A%2F%2F)(?:[a-z0-9._~!$*+,;=-]|%2[13-9a-e]|%3[a-e]|%[4-7][0-9a-f]){1,200}?(%40)`)
	shortBase64 = regexp.MustCompile(`[A-Za-z0-9+/]{12,}={0,2}`)
	hexadecimal = regexp.MustCompile(`\b(?:[0-9a-f]{2}){12,}\b|\b(?:[0-9A-F]{2}){12,}\b`)
	// userPassword matches USER:PASSWORD.
	userPassword = regexp.MustCompile(`^[A-Za-z0-9._+@|-]+:[!-~]{4,}$`)
	// continuationLine matches the rest of an encoded secret that a log continues on the next line.
	continuationLine = regexp.MustCompile(`^(` + logPrefix + `[ \t]*)([A-Za-z0-9+/_-]{8,}={0,2})([ \t\r]*)$`)
)

// maskEncodings masks secrets that are recognizable only after decoding.
func maskEncodings(text string) string {
	text = bootstrapToken.ReplaceAllStringFunc(text, func(match string) string {
		part := bootstrapToken.FindStringSubmatch(match)
		if !strings.ContainsAny(part[3], "0123456789") {
			return match // two words
		}
		return part[1] + part[2] + Mask + part[4]
	})
	text = encodedURL.ReplaceAllString(text, "${1}"+Mask+"${2}")
	text = shortBase64.ReplaceAllStringFunc(text, func(run string) string {
		plain, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(run, "="))
		if err != nil || !userPassword.Match(plain) {
			return run
		}
		return Mask
	})
	return hexadecimal.ReplaceAllStringFunc(text, func(run string) string {
		plain, err := hex.DecodeString(run)
		if err != nil || strings.ContainsFunc(string(plain), func(r rune) bool { return r < ' ' || r > '~' }) {
			return run // a digest
		}
		return Mask
	})
}

// maskContinuation masks a line that continues a secret of the previous line.
func maskContinuation(text string) string {
	if !strings.Contains(text, Mask+"\n") {
		return text
	}
	lines := strings.Split(text, "\n")
	for i := 1; i < len(lines); i++ {
		part := continuationLine.FindStringSubmatch(lines[i])
		if part != nil && strings.HasSuffix(strings.TrimRight(lines[i-1], " \t\r"), Mask) && isEncodedBytes(part[2]) {
			lines[i] = part[1] + Mask + part[3]
		}
	}
	return strings.Join(lines, "\n")
}
