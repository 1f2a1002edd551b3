package ignition

import (
	"net/url"
	"regexp"
)

// secretShapes matches secrets regardless of the file name: private keys, pull secrets,
// credentials in kubeconfigs, tokens, and passwords in URLs.
var secretShapes = regexp.MustCompile(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY` +
	`|"auths?"\s*:\s*[{"]` +
	`|client-key-data"?\s*:` +
	`|eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.` +
	`|[A-Za-z][A-Za-z0-9+.-]*://[^\s/@:"'<>]*:[^\s@"'<>$]+@` +
	`|(?m:^\s*"?token"?\s*[:=]\s*"?[A-Za-z0-9._~+/=-]{16,})`)

// userinfoShape matches a password before a host and port without a scheme, the form of the
// proxy in the arguments of kubernetes-default-proxy.
var userinfoShape = regexp.MustCompile(`[=\s"'][A-Za-z0-9_.%+-]+:[^\s:@/"']+@([A-Za-z0-9_.-]+):\d+`)

var digestShape = regexp.MustCompile(`^sha\d+$`)

// HoldsSecret reports whether the content of a file contains a secret, in plain text or
// percent-encoded in a data URL.
func HoldsSecret(content []byte) bool {
	if secretShapes.Match(content) {
		return true
	}
	for _, match := range userinfoShape.FindAllSubmatch(content, -1) {
		if !digestShape.Match(match[1]) { // an image with a tag and a digest
			return true
		}
	}
	decoded := percent.ReplaceAllFunc(content, func(code []byte) []byte {
		plain, err := url.PathUnescape(string(code))
		if err != nil {
			return code
		}
		return []byte(plain)
	})
	return len(decoded) < len(content) && secretShapes.Match(decoded)
}

var percent = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)
