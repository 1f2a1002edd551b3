// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"encoding/hex"
	"regexp"
	"slices"
	"strings"
)

const (
	minWrappedLength   = 16 // characters of a secret that is searched for across line ends
	minMixedCaseLength = 8  // the same for a secret in mixed case
)

// lineEnd matches the text between two parts of a wrapped secret: the end of the line, and
// the log prefix or indentation of the next line.
var lineEnd = regexp.MustCompile(`[ \t]*\r?\n(?:[A-Za-z0-9][^\n]{0,120}?: )?[ \t]*`)

// wrappedForms returns the forms in which a secret is written over several lines.
func wrappedForms(secret string) []string {
	all := append(base64Forms(secret), secret, hex.EncodeToString([]byte(secret)))
	return slices.DeleteFunc(all, func(form string) bool { return len(form) < minWrappedLength || strings.Contains(form, "\n") })
}

// maskWrapped masks secrets that are wrapped over several lines. Line ends and prefixes remain.
func (v Values) maskWrapped(text string) string {
	ends := lineEnd.FindAllStringIndex(text, -1)
	if len(ends) == 0 || len(v.wrapped) == 0 {
		return text
	}
	joined, origin := withoutLineEnds(text, ends)
	secret := make([]bool, len(joined))
	for _, pattern := range v.wrapped {
		for from := 0; ; {
			at := strings.Index(joined[from:], pattern)
			if at < 0 {
				break
			}
			from += at + len(pattern)
			if origin[from-1]-origin[from-len(pattern)] == len(pattern)-1 {
				continue // on one line, where the replacer finds it
			}
			for i := from - len(pattern); i < from; i++ {
				secret[i] = true
			}
		}
	}
	return maskMarked(text, joined, origin, secret)
}

// withoutLineEnds returns a text without its line ends, and the original position of each
// byte.
func withoutLineEnds(text string, ends [][]int) (string, []int) {
	var joined strings.Builder
	origin := make([]int, 0, len(text))
	at := 0
	keep := func(to int) {
		joined.WriteString(text[at:to])
		for ; at < to; at++ {
			origin = append(origin, at)
		}
	}
	for _, end := range ends {
		keep(end[0])
		at = end[1]
	}
	keep(len(text))
	return joined.String(), origin
}

// maskMarked masks the marked bytes of joined at their positions in text. Each line is
// masked separately.
func maskMarked(text, joined string, origin []int, marked []bool) string {
	var out strings.Builder
	at := 0
	for i := 0; i < len(joined); i++ {
		if !marked[i] {
			continue
		}
		out.WriteString(text[at:origin[i]])
		out.WriteString(Mask)
		for i+1 < len(joined) && marked[i+1] && origin[i+1] == origin[i]+1 {
			i++
		}
		at = origin[i] + 1
	}
	out.WriteString(text[at:])
	return out.String()
}
