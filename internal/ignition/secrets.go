// SPDX-License-Identifier: Apache-2.0

package ignition

import (
	"net/url"
	"regexp"
)

// secretPattern matches secrets regardless of the file name: private keys, pull secrets,
// credentials in kubeconfigs, tokens, and passwords in URLs.
var secretPattern = regexp.MustCompile(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY` +
	`|"auths?"\s*:\s*[{"]` +
	`|client-key-data"?\s*:` +
	`|eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.` +
	`|(?m:^\s*"?token"?\s*[:=]\s*"?[A-Za-z0-9._~+=-][A-Za-z0-9._~+/=-]{15,})` + // a path is no token
	// cifs, iscsi, cloud.conf; a path is no password
	"|(?mi:^[ \\t]*(?:[a-z_.]*\\.)?password(?:_in)?[ \\t]*=[ \\t]*" +
	"(?:[^\\s$\"'`(<{%/][^\\s]*|\"[^\"$`<{%/][^\"$`]*\")[ \\t]*$)" +
	`|(?m:^\s*(?:PrivateKey|PresharedKey)\s*=\s*[A-Za-z0-9+/]{43}=)` + // WireGuard
	`|\bPSK\s+"[^"]` + // ipsec.secrets(5)
	`|\bmachine\s+\S+\s+login\s+\S+\s+password\s+[^\s$]` + // .netrc
	`|(?mi:^\s*(?:aws_secret_access_key|ldap_default_authtok)\s*=\s*[^\s$])` +
	`|(?i:Authorization:\s*(?:Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{8})`)

// urlPattern matches a password in a URL, whose user information ends at the first slash (RFC 3986, 3.2).
var urlPattern = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s/?#@:"'<>]*:[^\s/?#@"'<>$]+@([A-Za-z0-9_.-]*)`)

// userinfoPattern matches a password before a host and port without a scheme, the form of the
// proxy in the arguments of kubernetes-default-proxy.
var userinfoPattern = regexp.MustCompile(`[=\s"'][A-Za-z0-9_.%+-]+:[^\s:@/"']+@([A-Za-z0-9_.-]+):\d+`)

var digestPattern = regexp.MustCompile(`^sha\d+$`)

// ContainsSecret reports whether the content of a file contains a secret, in plain text or
// percent-encoded in a data URL.
func ContainsSecret(content []byte) bool {
	if hasSecret(content) {
		return true
	}
	decoded := percentEncoding.ReplaceAllFunc(content, func(code []byte) []byte {
		plain, err := url.PathUnescape(string(code))
		if err != nil {
			return code
		}
		return []byte(plain)
	})
	return len(decoded) < len(content) && hasSecret(decoded)
}

func hasSecret(content []byte) bool {
	if secretPattern.Match(content) {
		return true
	}
	for _, pattern := range []*regexp.Regexp{urlPattern, userinfoPattern} {
		for _, match := range pattern.FindAllSubmatch(content, -1) {
			if !digestPattern.Match(match[1]) { // an image with a tag and a digest
				return true
			}
		}
	}
	return false
}

var percentEncoding = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)
