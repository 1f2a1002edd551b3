// SPDX-License-Identifier: Apache-2.0

package ignition

import (
	"iter"
	"net/url"
	"regexp"
	"strings"
	"sync"
)

// A secretPattern matches one kind of secret. Most files contain no secret, and the search for a word takes much less
// time than a regular expression.
type secretPattern struct {
	// word is in every match, in lower case. It has no s and no k if the pattern ignores case: (?i) also matches the
	// long s (U+017F) and the Kelvin sign (U+212A).
	word    string
	pattern func() *regexp.Regexp
}

// secretPatterns match secrets regardless of the file name: private keys, pull secrets,
// credentials in kubeconfigs, tokens, and passwords.
var secretPatterns = []secretPattern{
	{"private key", onUse(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY`)},
	{`"auth`, onUse(`"auths?"\s*:\s*[{"]`)},
	{"client-key-data", onUse(`client-key-data"?\s*:`)},
	{"eyj", onUse(`eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.`)},
	// A path is no token.
	{"token", onUse(`(?m:^\s*"?token"?\s*[:=]\s*"?[A-Za-z0-9._~+=-][A-Za-z0-9._~+/=-]{15,})`)},
	// cifs, iscsi, cloud.conf; a path is no password.
	{"word", onUse("(?mi:^[ \\t]*(?:[a-z_.]*\\.)?password(?:_in)?[ \\t]*=[ \\t]*" +
		"(?:[^\\s$\"'`(<{%/][^\\s]*|\"[^\"$`<{%/][^\"$`]*\")[ \\t]*$)")},
	// WireGuard.
	{"privatekey", onUse(`(?m:^\s*PrivateKey\s*=\s*[A-Za-z0-9+/]{43}=)`)},
	{"presharedkey", onUse(`(?m:^\s*PresharedKey\s*=\s*[A-Za-z0-9+/]{43}=)`)},
	{"psk", onUse(`\bPSK\s+"[^"]`)},                                       // ipsec.secrets(5)
	{"login", onUse(`\bmachine\s+\S+\s+login\s+\S+\s+password\s+[^\s$]`)}, // .netrc
	{"ecret_acce", onUse(`(?mi:^\s*aws_secret_access_key\s*=\s*[^\s$])`)},
	{"ldap_default_authto", onUse(`(?mi:^\s*ldap_default_authtok\s*=\s*[^\s$])`)},
	{"authorization", onUse(`(?i:Authorization:\s*(?:Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{8})`)},
}

// onUse returns a function that compiles the expression when it is called first. Most commands use none.
func onUse(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// hostPatterns match passwords before a host, which is the submatch, in one line that contains an at sign.
var hostPatterns = []*regexp.Regexp{
	// In a URL, whose user information ends at the first slash (RFC 3986, 3.2).
	regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s/?#@:"'<>]*:[^\s/?#@"'<>$]+@([A-Za-z0-9_.-]*)`),
	// Before a host and port without a scheme, the form of the proxy in the arguments of kubernetes-default-proxy.
	regexp.MustCompile(`[=\s"'][A-Za-z0-9_.%+-]+:[^\s:@/"']+@([A-Za-z0-9_.-]+):\d+`),
}

var digestPattern = regexp.MustCompile(`^sha\d+$`)

// ContainsSecret reports whether the content of a file contains a secret, in plain text or
// percent-encoded in a data URL.
func ContainsSecret(content string) bool {
	if hasSecret(content) {
		return true
	}
	if !strings.Contains(content, "%") {
		return false
	}
	decoded := percentEncoding.ReplaceAllStringFunc(content, func(code string) string {
		plain, err := url.PathUnescape(code)
		if err != nil {
			return code
		}
		return plain
	})
	return len(decoded) < len(content) && hasSecret(decoded)
}

func hasSecret(content string) bool {
	lower := strings.ToLower(content)
	for _, secret := range secretPatterns {
		if strings.Contains(lower, secret.word) && secret.pattern().MatchString(content) {
			return true
		}
	}
	for line := range linesWithAt(content) {
		if hasHostPassword(line) {
			return true
		}
	}
	return false
}

// linesWithAt returns the lines that contain an at sign, each with the newline before it and without the one after it.
func linesWithAt(content string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for {
			at := strings.IndexByte(content, '@')
			if at < 0 {
				return
			}
			begin, end := max(0, strings.LastIndexByte(content[:at], '\n')), len(content)
			if newline := strings.IndexByte(content[at:], '\n'); newline >= 0 {
				end = at + newline
			}
			if !yield(content[begin:end]) {
				return
			}
			content = content[end:]
		}
	}
}

// hasHostPassword reports whether a text contains a password before a host.
func hasHostPassword(text string) bool {
	for _, pattern := range hostPatterns {
		for _, match := range pattern.FindAllStringSubmatch(text, -1) {
			if !digestPattern.MatchString(match[1]) { // an image with a tag and a digest
				return true
			}
		}
	}
	return false
}

var percentEncoding = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)
