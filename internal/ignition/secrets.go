// SPDX-License-Identifier: Apache-2.0

package ignition

import (
	"net/url"
	"regexp"
	"strings"
)

// A secretPattern matches one kind of secret. Most files contain no secret, and the search for a word takes much less
// time than a regular expression.
type secretPattern struct {
	// word is in every match, in lower case. It has no s and no k if the pattern ignores case: (?i) also matches the
	// long s (U+017F) and the Kelvin sign (U+212A).
	word    string
	pattern *regexp.Regexp
}

// secretPatterns match secrets regardless of the file name: private keys, pull secrets,
// credentials in kubeconfigs, tokens, and passwords.
var secretPatterns = []secretPattern{
	{"private key", regexp.MustCompile(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY`)},
	{`"auth`, regexp.MustCompile(`"auths?"\s*:\s*[{"]`)},
	{"client-key-data", regexp.MustCompile(`client-key-data"?\s*:`)},
	{"eyj", regexp.MustCompile(`eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.`)},
	// A path is no token.
	{"token", regexp.MustCompile(`(?m:^\s*"?token"?\s*[:=]\s*"?[A-Za-z0-9._~+=-][A-Za-z0-9._~+/=-]{15,})`)},
	// cifs, iscsi, cloud.conf; a path is no password.
	{"word", regexp.MustCompile("(?mi:^[ \\t]*(?:[a-z_.]*\\.)?password(?:_in)?[ \\t]*=[ \\t]*" +
		"(?:[^\\s$\"'`(<{%/][^\\s]*|\"[^\"$`<{%/][^\"$`]*\")[ \\t]*$)")},
	// WireGuard.
	{"key", regexp.MustCompile(`(?m:^\s*(?:PrivateKey|PresharedKey)\s*=\s*[A-Za-z0-9+/]{43}=)`)},
	{"psk", regexp.MustCompile(`\bPSK\s+"[^"]`)},                                         // ipsec.secrets(5)
	{"machine", regexp.MustCompile(`\bmachine\s+\S+\s+login\s+\S+\s+password\s+[^\s$]`)}, // .netrc
	{"ecret_acce", regexp.MustCompile(`(?mi:^\s*aws_secret_access_key\s*=\s*[^\s$])`)},
	{"ldap_default_authto", regexp.MustCompile(`(?mi:^\s*ldap_default_authtok\s*=\s*[^\s$])`)},
	{"authorization", regexp.MustCompile(`(?i:Authorization:\s*(?:Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{8})`)},
}

// hostPatterns match passwords before a host, which is the submatch.
var hostPatterns = []secretPattern{
	// In a URL, whose user information ends at the first slash (RFC 3986, 3.2).
	{"@", regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s/?#@:"'<>]*:[^\s/?#@"'<>$]+@([A-Za-z0-9_.-]*)`)},
	// Before a host and port without a scheme, the form of the proxy in the arguments of kubernetes-default-proxy.
	{"@", regexp.MustCompile(`[=\s"'][A-Za-z0-9_.%+-]+:[^\s:@/"']+@([A-Za-z0-9_.-]+):\d+`)},
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
	contains := func(p secretPattern) bool { return strings.Contains(lower, p.word) }
	for _, secret := range secretPatterns {
		if contains(secret) && secret.pattern.MatchString(content) {
			return true
		}
	}
	for _, secret := range hostPatterns {
		if !contains(secret) {
			continue
		}
		for _, match := range secret.pattern.FindAllStringSubmatch(content, -1) {
			if !digestPattern.MatchString(match[1]) { // an image with a tag and a digest
				return true
			}
		}
	}
	return false
}

var percentEncoding = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)
