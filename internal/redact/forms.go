// SPDX-License-Identifier: Apache-2.0

package redact

import (
	_ "embed"
	"regexp"
	"strings"
	"sync"
)

//go:embed shapes.txt
var shapesText string

// shape is a form of secrets that is recognized regardless of the text before it.
type shape struct {
	pattern     *regexp.Regexp
	replacement string
}

// shapes returns the shapes of shapes.txt. Most commands need none.
var shapes = sync.OnceValue(func() []shape {
	var all []shape
	for line := range strings.Lines(shapesText) {
		pattern, replacement, isShape := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if isShape {
			replacement = strings.NewReplacer(`\1`, "${1}", `\2`, "${2}").Replace(replacement)
			all = append(all, shape{regexp.MustCompile("(?m)" + pattern), replacement})
		}
	}
	return all
})

var (
	secretFlag     = regexp.MustCompile(`(--?[A-Za-z0-9-]+)([ \t]+)([^\s"'-][^\s"']*|"[^"\n]*"|'[^'\n]*')`)
	bootstrapToken = regexp.MustCompile(`(^|[^A-Za-z0-9._/-])([a-z0-9]{6}\.)([a-z0-9]{16})($|[^A-Za-z0-9._/-])`)
	link           = regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)([^\s"'<>\\]+)`)
	userinfo       = regexp.MustCompile(`[A-Za-z0-9_.%+-]+:[^\s:@/"']+@([A-Za-z0-9_.-]+)`)
	digest         = regexp.MustCompile(`^sha\d+\b`)
)

// maskForms masks text in the form of a secret, values of secret flags, and passwords in URLs.
func maskForms(text string) string {
	for _, one := range shapes() {
		text = one.pattern.ReplaceAllString(text, one.replacement)
	}
	text = replaceMatches(secretFlag, text, func(part []string) string {
		if !isSecretName(part[1]) {
			return part[0]
		}
		return part[1] + part[2] + maskValue(part[3])
	})
	text = replaceMatches(bootstrapToken, text, func(part []string) string {
		if !strings.ContainsAny(part[3], "0123456789") {
			return part[0] // two words
		}
		return part[1] + part[2] + mask + part[4]
	})
	text = replaceMatches(link, text, func(part []string) string { return part[1] + maskUserinfo(part[2]) })
	return replaceMatches(userinfo, text, func(part []string) string {
		if digest.MatchString(part[1]) {
			return part[0] // an image with a tag and a digest
		}
		return mask + "@" + part[1]
	})
}

// replaceMatches replaces each match of pattern by the result for its submatches.
func replaceMatches(pattern *regexp.Regexp, text string, replace func(part []string) string) string {
	return pattern.ReplaceAllStringFunc(text, func(match string) string {
		return replace(pattern.FindStringSubmatch(match))
	})
}

// maskUserinfo masks the text before the last @ of a URL without its scheme, unless the @
// is in the path. A password can contain a slash that should have been encoded.
func maskUserinfo(rest string) string {
	for end := len(rest); ; {
		at := strings.LastIndexByte(rest[:end], '@')
		if at < 0 {
			return rest
		}
		if digest.MatchString(rest[at+1:]) { // of an image
			end = at
			continue
		}
		before, _, path := strings.Cut(rest[:at], "/")
		if path && !strings.Contains(before, ":") {
			return rest
		}
		return mask + rest[at:]
	}
}
