package redact

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Values masks secrets by what they are, whatever stands around them: plain, in
// base64 at any place of what was encoded, in hexadecimal, encoded for a URL or
// for JSON, and wrapped over several lines. The zero value knows none.
type Values struct {
	replacer *strings.Replacer
	wrapped  []string // that are also looked for over the ends of lines
}

// NewValues makes Values of secrets, as Find lists them. Those of less than
// four characters are passed over.
func NewValues(secrets ...string) Values {
	known := map[string]bool{}
	var wrapped []string
	for _, secret := range secrets {
		if len(secret) < shortest || strings.Trim(secret, "*") == "" {
			continue
		}
		for _, form := range forms(secret) {
			known[form] = true
		}
		wrapped = append(wrapped, wrappedForms(secret)...)
	}
	if len(known) == 0 {
		return Values{}
	}
	patterns := make([]string, 0, len(known))
	for form := range known {
		patterns = append(patterns, form)
	}
	// Of several that fit at a place the first counts, and shall be the longest.
	slices.SortFunc(patterns, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	pairs := make([]string, 0, 2*len(patterns))
	for _, pattern := range patterns {
		pairs = append(pairs, pattern, Mask)
	}
	return Values{replacer: strings.NewReplacer(pairs...), wrapped: wrapped}
}

// Text gives a text with the known secrets masked.
func (v Values) Text(text string) string {
	if v.replacer == nil {
		return text
	}
	return v.replacer.Replace(v.unwrap(text))
}

// forms are the ways in which a secret can be written.
func forms(secret string) []string {
	all := []string{secret, quoted(secret, true), quoted(secret, false)}
	for _, core := range inBase64(secret) {
		all = append(all, core, strings.NewReplacer("+", "-", "/", "_").Replace(core))
	}
	for _, form := range []string{secret, hex.EncodeToString([]byte(secret))} {
		if len(form) >= shortestOfCase {
			all = append(all, form, strings.ToUpper(form), strings.ToLower(form))
		}
	}
	all = append(all, strings.ReplaceAll(secret, "-", "%2D"), strings.ReplaceAll(secret, "-", `\x2d`)) // as systemd-escape does
	for _, form := range slices.Clone(all) {
		for _, escaped := range []string{url.QueryEscape(form), url.PathEscape(form)} {
			all = append(all, escaped, percent.ReplaceAllStringFunc(escaped, strings.ToLower))
		}
	}
	return all
}

var percent = regexp.MustCompile(`%[0-9A-F]{2}`)

// quoted is a secret in a string of JSON; some encoders escape &, < and > too.
func quoted(secret string, html bool) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(html)
	if encoder.Encode(secret) != nil {
		return secret
	}
	return strings.Trim(strings.TrimSpace(out.String()), `"`)
}

// inBase64 is what a secret becomes inside of a longer text that is encoded,
// for each of the three places where it can begin there: the characters that
// depend on the secret alone. Few of them are words of other texts, and are not
// looked for.
func inBase64(secret string) []string {
	const least = 8
	var cores []string
	for shift := range 3 {
		encoded := base64.RawStdEncoding.EncodeToString(append(make([]byte, shift), secret...))
		from := (8*shift + 5) / 6             // the first character with no bit of what stands before
		to := (8 * (shift + len(secret))) / 6 // the first one with a bit of what comes after
		if to-from >= least {
			cores = append(cores, encoded[from:to])
		}
	}
	return cores
}
