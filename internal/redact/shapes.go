// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"encoding/base64"
	"regexp"
	"strings"
)

var (
	link     = regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)([^\s"'<>\\]+)`)
	userinfo = regexp.MustCompile(`[A-Za-z0-9_.%+-]+:[^\s:@/"']+@([A-Za-z0-9_.-]+)`)
	scheme   = regexp.MustCompile(`((?i:bearer)|Basic|Digest|Negotiate)[ \t]+[A-Za-z0-9._~+/=-]{8,}`)
	header   = regexp.MustCompile(`(?i)(authorization\\?["']?[ \t]*[:=][ \t]*\\?["']?)[^"'\\\n]+`)
	flag     = regexp.MustCompile(`(--?[A-Za-z0-9-]+)([ \t]+)([^\s"'-][^\s"']*|"[^"\n]*"|'[^'\n]*')`)
	user     = regexp.MustCompile(`((?:^|\s)(?:-u|-U|--user|--proxy-user)[ =]*["']?)[^\s:"']+:[^\s"']+`)
	jwt      = regexp.MustCompile(`eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*`)
	crypt    = regexp.MustCompile(`\$(?:1|2[abxy]?|5|6|7|y|gy|apr1|argon2[a-z]*|pbkdf2[a-z0-9-]*)\$[^\s:"']+|\{(?:SHA|SSHA)[0-9]*\}[A-Za-z0-9+/]+={0,2}`)
	encoded  = regexp.MustCompile(`(?:ssh-[a-z0-9-]+ |ecdsa-[a-z0-9-]+ |sk-[a-z0-9@.-]+ )?[A-Za-z0-9+/_-]{40,}={0,2}`)
	// csrName matches the name of a node's CSR, which an administrator needs for approval.
	// It is a digest of public data.
	csrName = regexp.MustCompile(`^node-csr-[A-Za-z0-9_-]{43}$`)
	digest  = regexp.MustCompile(`^sha\d+\b`)
)

// maskShapes masks text in the format of a secret, regardless of the text before it.
func maskShapes(text string) string {
	text = header.ReplaceAllString(text, "${1}"+Mask)
	text = scheme.ReplaceAllString(text, "${1} "+Mask)
	text = user.ReplaceAllString(text, "${1}"+Mask)
	text = flag.ReplaceAllStringFunc(text, func(match string) string {
		part := flag.FindStringSubmatch(match)
		if !isSecretKey(part[1]) {
			return match
		}
		return part[1] + part[2] + maskValue(part[3])
	})
	text = link.ReplaceAllStringFunc(text, func(match string) string {
		part := link.FindStringSubmatch(match)
		return part[1] + maskUserinfo(part[2])
	})
	text = userinfo.ReplaceAllStringFunc(text, func(match string) string {
		host := userinfo.FindStringSubmatch(match)[1]
		if digest.MatchString(host) {
			return match // an image with a tag and a digest
		}
		return Mask + "@" + host
	})
	text = jwt.ReplaceAllString(text, Mask)
	text = crypt.ReplaceAllString(text, Mask)
	return encoded.ReplaceAllStringFunc(text, func(run string) string {
		if strings.Contains(run, " ") || csrName.MatchString(run) || isPublic(run) || !isEncodedBytes(run) {
			return run
		}
		return Mask
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
		if digest.MatchString(rest[at+1:]) {
			end = at
			continue
		}
		before, _, path := strings.Cut(rest[:at], "/")
		if path && !strings.Contains(before, ":") {
			return rest
		}
		return Mask + rest[at:]
	}
}

// isPublic reports whether a run of base64 characters contains only certificates or
// certificate requests.
func isPublic(run string) bool {
	if !strings.HasPrefix(run, "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS") { // -----BEGIN CERTIFICATE
		return false
	}
	content, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(run, "="))
	return err == nil && !privateKey.Match(content) && strings.TrimSpace(publicBlock.ReplaceAllLiteralString(string(content), "")) == ""
}

// isEncodedBytes reports whether a run of base64 characters is encoded bytes. It must contain lower
// and upper case letters and digits, unlike hexadecimal digests, and must not be a path or
// name made of words.
func isEncodedBytes(run string) bool {
	has := func(from, to rune) bool {
		return strings.ContainsFunc(run, func(r rune) bool { return from <= r && r <= to })
	}
	if !has('a', 'z') || !has('A', 'Z') || !has('0', '9') {
		return false
	}
	words := strings.FieldsFunc(run, func(r rune) bool { return r == '/' || r == '-' || r == '_' })
	for _, part := range words {
		if !wordOrCommit.MatchString(part) {
			return true
		}
	}
	return len(words) < 3
}

// wordOrCommit matches a part of a path or name: words with an optional number, or a commit.
var wordOrCommit = regexp.MustCompile(`^(?:[A-Z]?[a-z]{2,}|[A-Z]{2,6}){1,4}[0-9]{0,4}$|^[a-z]{1,3}[0-9]{0,3}$|^[0-9]{1,4}$|^[0-9a-f]{7,64}$`)
