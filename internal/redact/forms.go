// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"regexp"
	"strings"
)

// forms are the forms of secrets that are recognized regardless of the text before them.
var forms = []struct {
	pattern     *regexp.Regexp
	replacement string
}{
	{regexp.MustCompile(`(?i)(authorization\\?["']?[ \t]*[:=][ \t]*\\?["']?)[^"'\\\n]+`), "${1}" + mask},
	{regexp.MustCompile(`((?i:bearer)|Basic|Digest|Negotiate)[ \t]+[A-Za-z0-9._~+/=-]{8,}`), "${1} " + mask},
	// USER:PASSWORD in the arguments of curl.
	{regexp.MustCompile(`((?:^|\s)(?:-u|-U|--user|--proxy-user)[ =]*["']?)[^\s:"']+:[^\s"']+`), "${1}" + mask},
	// JSON Web Tokens.
	{regexp.MustCompile(`eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*`), mask},
	// Password hashes of crypt and LDAP.
	{regexp.MustCompile(`\$(?:1|2[abxy]?|5|6|7|y|gy|apr1|argon2[a-z]*|pbkdf2[a-z0-9-]*)\$[^\s:"']+`), mask},
	{regexp.MustCompile(`\{(?:SHA|SSHA)[0-9]*\}[A-Za-z0-9+/]+={0,2}`), mask},
	// A UUID that is the token of user data. Other UUIDs identify pods, connections and disks.
	{regexp.MustCompile(`(?i)(\btoken[ \t]+["']?)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`), "${1}" + mask},
}

var (
	flag           = regexp.MustCompile(`(--?[A-Za-z0-9-]+)([ \t]+)([^\s"'-][^\s"']*|"[^"\n]*"|'[^'\n]*')`)
	bootstrapToken = regexp.MustCompile(`(^|[^A-Za-z0-9._/-])([a-z0-9]{6}\.)([a-z0-9]{16})($|[^A-Za-z0-9._/-])`)
	link           = regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)([^\s"'<>\\]+)`)
	userinfo       = regexp.MustCompile(`[A-Za-z0-9_.%+-]+:[^\s:@/"']+@([A-Za-z0-9_.-]+)`)
	digest         = regexp.MustCompile(`^sha\d+\b`)
)

// maskForms masks text in the form of a secret, values of secret flags, and passwords in URLs.
func maskForms(text string) string {
	for _, form := range forms {
		text = form.pattern.ReplaceAllString(text, form.replacement)
	}
	text = replaceMatches(flag, text, func(part []string) string {
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
