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
	// word is in every match, in lower case. It has no s if the pattern ignores case: (?i) also matches the long s
	// (U+017F), which is in lower case already.
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
	{"ls0tls1crudjti", onUse(`LS0tLS1CRUdJTi(?:BSU0EgUFJJVkFURS|BQUklWQVRF|BFQyBQUklWQVRF|BPUEVOU1NIIFBSSVZBVEUg` +
		`|BFTkNSWVBURUQg)`)}, // a private key in base64, as in a Secret
	// A path is no token.
	{"token", onUse(`(?m:^\s*` + variable + `"?(?:token|[A-Z0-9_]*TOKEN)"?\s*[:=]\s*"?` +
		`[A-Za-z0-9._~+=-][A-Za-z0-9._~+/=-]{15,})`)},
	{"gh", onUse(`\bgh[oprsu]_[A-Za-z0-9]{30}`)},
	{"github_pat_", onUse(`\bgithub_pat_[A-Za-z0-9_]{20}`)},
	{"glpat-", onUse(`\bglpat-[A-Za-z0-9_-]{20}`)},
	{"npm_", onUse(`\bnpm_[A-Za-z0-9]{30}`)},
	{"hvs.", onUse(`\bhvs\.[A-Za-z0-9_-]{20}`)},
	{"sha256~", onUse(`\bsha256~[A-Za-z0-9_-]{40}`)},
	{"curl", onUse(`\bcurl(?:\s[^\n|;]*?)?\s(?:-[uU][ \t]*|--(?:proxy-)?user[ =])["']?[^\s:"'$]+:[^\s"'$]`)},
	{"psk", onUse(`(?m:^[ \t]*(?:wpa_)?psk[ \t]*=[ \t]*"?[^\s"$<{%/][^\s"]{7,}"?[ \t\r]*$)`)}, // of a wireless network
	// WireGuard.
	{"privatekey", onUse(`(?m:^\s*PrivateKey\s*=\s*[A-Za-z0-9+/]{43}=)`)},
	{"presharedkey", onUse(`(?m:^\s*PresharedKey\s*=\s*[A-Za-z0-9+/]{43}=)`)},
	{"psk", onUse(`\bPSK\s+"[^"]`)}, // ipsec.secrets(5)
	{"eap", onUse(`:\s*EAP\s+"[^"]`)},
	{"xauth", onUse(`:\s*XAUTH\s+"[^"]`)},
	{"login", onUse(`\b(?:machine\s+\S+|default)\s+login\s+\S+\s+(?:account\s+\S+\s+)?password\s+[^\s$]`)}, // .netrc
	{"login", onUse(`\bmachine\s+\S+\s+password\s+[^\s$]\S*\s+login\s`)},
	{"ldap_default_authto", onUse(`(?mi:^\s*ldap_default_authtok\s*=\s*[^\s$])`)},
	{"authorization", onUse(`(?i:Authorization:\s*(?:Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{8})`)},
}

// variable matches what precedes the name of a variable in a shell or a unit.
const variable = `(?:export[ \t]+|Environment=["']?)?`

// settingPatterns match settings that are secrets, with the value as submatch: credentials for cifs and iSCSI,
// variables, .npmrc, and settings in YAML and JSON. The value must be the rest of a line.
var settingPatterns = []secretPattern{
	{"word", setting(`password(?:_in)?`)},
	{"phra", setting(`passphrase`)},
	{"ecret", setting(`client_?secret|secret_?access_?key`)},
	{"authto", setting(`_authtoken`)},
	{"apikey", setting(`apikey`)},
	{"api_key", setting(`api_key`)},
	{"word", onUse(`(?i:"[a-z0-9_.-]*(?:password|client_?secret)"\s*:\s*("[^"]+"))`)},
}

// setting returns a function that compiles the pattern of settings whose names end with an expression.
func setting(names string) func() *regexp.Regexp {
	return onUse(`(?mi:^[ \t]*(?:- )?` + variable + `"?[a-z0-9_.:/-]*(?:` + names +
		`)"?[ \t]*[=:][ \t]*([^\s"'=]\S*|"[^"]*"|'[^']*')["',]?[ \t\r]*$)`)
}

// noSecret matches values that are no secrets: paths, variables, templates, masks, words of other settings, and calls
// and attributes in programs.
var noSecret = regexp.MustCompile("^(?:|[/(<{%`].*|\\*+|(?:\\$\\w+|\\$\\{[^}]*\\})+|\\$\\(.*|" +
	`(?i:true|false|yes|no|on|off|null|none|string|required|optional|disabled|enabled)|` +
	`[A-Za-z_][\w.]*[(\[].*|[A-Za-z_][\w.]*\.\w*(?i:passw(?:or)?d|secret|key|token))[,;]?$`)

// isSecretValue reports whether the value of a setting that can be a secret is one.
func isSecretValue(value string) bool {
	return !noSecret.MatchString(strings.Trim(value, "\"', \t"))
}

// onUse returns a function that compiles the expression when it is called first. Most commands use none.
func onUse(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// hostPatterns match a user, a password and the host, which are the submatches, in one line that contains an at sign.
var hostPatterns = []*regexp.Regexp{
	// In a URL, whose user information ends at the first slash (RFC 3986, 3.2).
	regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://([^\s/?#@:"'<>]*):([^\s/?#@"'<>]+)@([A-Za-z0-9_.-]*)`),
	// Before a host and port without a scheme, the form of the proxy in the arguments of kubernetes-default-proxy.
	regexp.MustCompile(`[=\s"']([A-Za-z0-9_.%+-]+):([^\s:@/"']+)@([A-Za-z0-9_.-]+):\d+`),
}

var (
	digestPattern = regexp.MustCompile(`^sha\d+$`)
	// schemePattern matches schemes of addresses without slashes, such as sip:USER@HOST:PORT.
	schemePattern = regexp.MustCompile(`^(?i:sips?|mailto|xmpp)$`)
	// noPassword matches what precedes an at sign and is no password: variables, templates, masks, a port in a list, or a
	// regular expression.
	noPassword = regexp.MustCompile(`^(?:\$\w+|\$\{[^}]*\})+$|^\$\(|^[<{]|^\*+$|^\d+,|[\])][*+]`)
)

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
	for _, one := range settingPatterns {
		if !strings.Contains(lower, one.word) {
			continue
		}
		for _, match := range one.pattern().FindAllStringSubmatch(content, -1) {
			if isSecretValue(match[1]) {
				return true
			}
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
			user, password, host := match[1], match[2], match[3]
			isImage := digestPattern.MatchString(host) // with a tag and a digest
			if !isImage && !noPassword.MatchString(password) && !schemePattern.MatchString(user) {
				return true
			}
		}
	}
	return false
}

var percentEncoding = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)
