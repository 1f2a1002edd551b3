package redact

import (
	"encoding/base64"
	"encoding/hex"
	"regexp"
	"strings"
)

var (
	bootstrapToken = regexp.MustCompile(`(^|[^A-Za-z0-9._/-])([a-z0-9]{6}\.)([a-z0-9]{16})($|[^A-Za-z0-9._/-])`)
	// escapedLink matches an encoded URL inside a URL, up to its @. Separators of words and
	// paths do not precede the @.
	escapedLink = regexp.MustCompile(`(?i)(%3A%2F%2F)(?:[a-z0-9._~!$*+,;=-]|%2[13-9a-e]|%3[a-e]|%[4-7][0-9a-f]){1,200}?(%40)`)
	shortBase64 = regexp.MustCompile(`[A-Za-z0-9+/]{12,}={0,2}`)
	hexadecimal = regexp.MustCompile(`\b(?:[0-9a-f]{2}){12,}\b|\b(?:[0-9A-F]{2}){12,}\b`)
	// login matches USER:PASSWORD.
	login = regexp.MustCompile(`^[A-Za-z0-9._+@|-]+:[!-~]{4,}$`)
	// tail matches the rest of an encoded secret that a log continues on the next line.
	tail = regexp.MustCompile(`^(` + logPrefix + `[ \t]*)([A-Za-z0-9+/_-]{8,}={0,2})([ \t\r]*)$`)
)

// encodings masks secrets that are recognizable only after decoding.
func encodings(text string) string {
	text = bootstrapToken.ReplaceAllStringFunc(text, func(match string) string {
		part := bootstrapToken.FindStringSubmatch(match)
		if !strings.ContainsAny(part[3], "0123456789") {
			return match // two words
		}
		return part[1] + part[2] + Mask + part[4]
	})
	text = escapedLink.ReplaceAllString(text, "${1}"+Mask+"${2}")
	text = shortBase64.ReplaceAllStringFunc(text, func(run string) string {
		plain, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(run, "="))
		if err != nil || !login.Match(plain) {
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

// continued masks a line that continues a secret of the previous line.
func continued(text string) string {
	if !strings.Contains(text, Mask+"\n") {
		return text
	}
	lines := strings.Split(text, "\n")
	for i := 1; i < len(lines); i++ {
		part := tail.FindStringSubmatch(lines[i])
		if part != nil && strings.HasSuffix(strings.TrimRight(lines[i-1], " \t\r"), Mask) && random(part[2]) {
			lines[i] = part[1] + Mask + part[3]
		}
	}
	return strings.Join(lines, "\n")
}
