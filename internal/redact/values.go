// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Values masks known secrets by their value, regardless of the text around them. It
// recognizes them plain, in base64 at any offset of the encoded data, in hexadecimal,
// encoded for a URL or for JSON, and wrapped over several lines. Of a long secret it also recognizes
// each half. The zero value contains no secrets.
type Values struct {
	replacer *strings.Replacer
	wrapped  []string // also searched for across line ends
}

// NewValues returns the Values of secrets, such as those that Find returns. Secrets of less
// than four characters are ignored.
func NewValues(secrets ...string) Values {
	known := map[string]bool{}
	var wrapped []string
	for _, secret := range secrets {
		if len(secret) < minSecretLength || strings.Trim(secret, "*") == "" {
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
	// At each position the first matching pattern is used, so the longest must be first.
	slices.SortFunc(patterns, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	pairs := make([]string, 0, 2*len(patterns))
	for _, pattern := range patterns {
		pairs = append(pairs, pattern, Mask)
	}
	return Values{replacer: strings.NewReplacer(pairs...), wrapped: wrapped}
}

// Text returns text with the known secrets masked.
func (v Values) Text(text string) string {
	if v.replacer == nil {
		return text
	}
	return v.replacer.Replace(v.maskWrapped(text))
}

// forms returns the forms in which a secret can be written.
func forms(secret string) []string {
	all := []string{secret, jsonForm(secret, true), jsonForm(secret, false)}
	for _, core := range base64Forms(secret) {
		all = append(all, core, strings.NewReplacer("+", "-", "/", "_").Replace(core))
	}
	for _, form := range []string{secret, hex.EncodeToString([]byte(secret))} {
		if len(form) >= minMixedCaseLength {
			all = append(all, form, strings.ToUpper(form), strings.ToLower(form))
		}
	}
	all = append(all, halves(secret)...)
	all = append(all, escapedForms(secret)...)
	// The escapes of systemd-escape.
	all = append(all, strings.ReplaceAll(secret, "-", "%2D"), strings.ReplaceAll(secret, "-", `\x2d`))
	for _, form := range slices.Clone(all) {
		for _, escaped := range []string{url.QueryEscape(form), url.PathEscape(form)} {
			all = append(all, escaped, percent.ReplaceAllStringFunc(escaped, strings.ToLower))
		}
	}
	return all
}

// minHalfLength is the minimum length of half a secret. A text that was cut can contain only one half.
const minHalfLength = 16

// halves returns the halves of a long secret that contain a digit. Others can be words.
func halves(secret string) []string {
	middle := len(secret) / 2
	if middle < minHalfLength {
		return nil
	}
	return slices.DeleteFunc([]string{secret[:middle], secret[middle:]}, func(half string) bool {
		return !strings.ContainsAny(half, "0123456789")
	})
}

// escapedForms returns a secret with each byte encoded for a URL, and with the escapes of JSON encoders
// that escape more than JSON requires.
func escapedForms(secret string) []string {
	var percentAll strings.Builder
	for _, b := range []byte(secret) {
		fmt.Fprintf(&percentAll, "%%%02x", b)
	}
	all := []string{percentAll.String(), strings.ToUpper(percentAll.String())}
	for _, format := range []string{`\u%04x`, `\u%04X`} {
		for _, escaped := range []*regexp.Regexp{punctuation, hyphen, plus} {
			all = append(all, escaped.ReplaceAllStringFunc(secret, func(char string) string {
				return fmt.Sprintf(format, char[0])
			}))
		}
	}
	return all
}

var (
	punctuation = regexp.MustCompile(`[[:punct:]]`)
	hyphen      = regexp.MustCompile(`-`)
	plus        = regexp.MustCompile(`\+`)
)

var percent = regexp.MustCompile(`%[0-9A-F]{2}`)

// jsonForm returns a secret as it appears in a JSON string; some encoders also escape &, <
// and >.
func jsonForm(secret string, html bool) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(html)
	if encoder.Encode(secret) != nil {
		return secret
	}
	return strings.Trim(strings.TrimSpace(out.String()), `"`)
}

// base64Forms returns the base64 characters that depend only on the secret, for each of its
// three possible offsets in a longer encoded text. It omits results that are too short,
// because they can be words of other texts.
func base64Forms(secret string) []string {
	const least = 8
	var cores []string
	for shift := range 3 {
		encoded := base64.RawStdEncoding.EncodeToString(append(make([]byte, shift), secret...))
		from := (8*shift + 5) / 6             // first character without a bit of the preceding text
		to := (8 * (shift + len(secret))) / 6 // first character with a bit of the following text
		if to-from >= least {
			cores = append(cores, encoded[from:to])
		}
	}
	return cores
}
