// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"regexp"
	"slices"
	"strings"
)

var keyWord = regexp.MustCompile(`[A-Z]+(?:[a-z0-9]*)|[a-z0-9]+`)

// keyVariable matches an environment variable that contains a key. In other places "key"
// usually means a name, as in a toleration.
var keyVariable = regexp.MustCompile(`^[A-Z][A-Z0-9_]*_KEY$`)

// isSecretKey reports whether the value of a key is a secret, based on the words of the key:
// client_secret, ADMIN-PASSWORD and apiToken are secret, tokenFile is not.
func isSecretKey(key string) bool {
	words := keyWord.FindAllString(key, -1)
	if len(words) == 0 {
		return false
	}
	for i := range words {
		words[i] = strings.ToLower(words[i])
	}
	if slices.Contains([]string{
		"file", "files", "path", "dir", "directory", "name", "names", "type", "ref", "url", "uri", "endpoint",
		"ttl", "timeout", "seconds", "expiration", "expiry", "enabled", "required", "audience", "algorithm", "policy",
	}, words[len(words)-1]) {
		return false
	}
	if slices.Contains([]string{"auth", "psk", "pin", "pwd", "pw", "pass", "sig", "cred", "creds"}, words[len(words)-1]) {
		return true
	}
	if keyVariable.MatchString(key) && !slices.Contains(words, "public") && !slices.Contains(words, "gpg") {
		return true
	}
	whole := strings.Join(words, "")
	return slices.ContainsFunc([]string{
		"password", "passwd", "passphrase", "passwort", "kennwort", "secret", "token", "apikey", "accesskey", "privatekey", "keydata", "wepkey",
		"credential", "passcode", "authtok", "activationkey", "encryptionkey", "cookie", "signature", "authorization", "bearer", "presharedkey", "mkacak",
	}, func(part string) bool { return strings.Contains(whole, part) })
}

// keyPattern matches a key and the separator before its value in YAML, JSON (also inside a
// string), INI, a shell, a header or a query.
var keyPattern = regexp.MustCompile(`([A-Za-z0-9_.-]+)\\?["']?[ \t]*(?::=|=>|[:=])[ \t]*`)

// replaceKeyValues replaces the value of each secret key, in order. It also searches the values
// of other keys: Environment=TOKEN=... contains two keys.
func replaceKeyValues(text string, replace func(value string) string) string {
	var out strings.Builder
	written := 0
	for at := 0; ; {
		mark := keyPattern.FindStringSubmatchIndex(text[at:])
		if mark == nil {
			out.WriteString(text[written:])
			return out.String()
		}
		key, end, value := at+mark[2], at+mark[3], at+mark[1]
		at = value
		if isSecretKey(text[key:end]) {
			at += valueLength(text[value:], text[:key])
			out.WriteString(text[written:value] + replace(text[value:at]))
			written = at
		}
	}
}

// valueLength returns the length of the value at the start of text; before is the text
// before the key.
func valueLength(text, before string) int {
	line := text
	if end := strings.IndexByte(text, '\n'); end >= 0 {
		line = text[:end]
	}
	for _, quote := range []string{`\"`, `"`, `'`} {
		if strings.HasPrefix(line, quote) {
			return quotedLength(line, quote)
		}
	}
	if strings.HasPrefix(line, "[") {
		if end := strings.IndexByte(line, ']'); end > 0 && !strings.Contains(line[:end], "{") {
			return end + 1
		}
		return 0
	}
	if strings.HasPrefix(line, "{") {
		return 0 // determined by the keys in the value
	}
	if quote := before[max(0, len(before)-1):]; quote == `"` || quote == "'" {
		if end := strings.Index(line, quote); end >= 0 {
			return end // the quotes enclose key and value
		}
	}
	if begin := strings.TrimLeft(before[strings.LastIndexByte(before, '\n')+1:], " \t-"); begin == "" || begin == "export " {
		return len(strings.TrimRight(line, " \t\r"))
	}
	if end := strings.IndexAny(line, " \t\r\"'"); end >= 0 {
		return end
	}
	return len(line)
}

// quotedLength returns the length of a quoted text including its quotes, or the whole length if
// the closing quote is missing.
func quotedLength(line, quote string) int {
	for i := len(quote); i < len(line); i++ {
		if strings.HasPrefix(line[i:], quote) {
			return i + len(quote)
		}
		if line[i] == '\\' && quote == `"` {
			i++
		}
	}
	return len(line)
}

// variableReference matches a reference to a variable, which contains no secret.
var variableReference = regexp.MustCompile(`^\$(\w+|\{\w+\}|\(\w+\))$`)

func maskValue(value string) string {
	bare := strings.Trim(value, `\"'`)
	plain := []string{"", "true", "false", "yes", "no", "on", "off", "null", "none", "~", "|", "|-", "|+", ">", ">-", ">+", "[]", "[" + Mask + "]", Mask}
	if slices.Contains(plain, strings.ToLower(bare)) || variableReference.MatchString(bare) {
		return value
	}
	for _, quote := range []string{`\"`, `"`, `'`} {
		if strings.HasPrefix(value, quote) {
			return quote + Mask + quote
		}
	}
	if strings.HasPrefix(value, "[") {
		return "[" + Mask + "]"
	}
	return Mask
}
