// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"regexp"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
)

var (
	word = regexp.MustCompile(`[A-Z]+(?:[a-z0-9]*)|[a-z0-9]+`)
	// keyVariable matches an environment variable that contains a key. In other places "key"
	// usually means a name, as in a toleration.
	keyVariable = regexp.MustCompile(`^[A-Z][A-Z0-9_]*_KEY$`)
	// secretWords matches the words of a secret name, joined.
	secretWords = regexp.MustCompile(`passw(?:or)?d|pass(?:phrase|code)|secret|token|credential|cookie|signature|` +
		`authorization|authtok|bearer|keydata|wepkey|mkacak|passwort|motdepasse|pinvalue|` +
		`(?:api|access|account|activation|auth|encryption|preshared|private)key`)
)

// isSecretName reports whether the value of a name is a secret, based on the words of the name:
// client_secret, ADMIN-PASSWORD and apiToken are secret, tokenFile is not.
func isSecretName(name string) bool {
	words := lists.Map(word.FindAllString(name, -1), strings.ToLower)
	if len(words) == 0 {
		return false
	}
	switch words[len(words)-1] {
	case "file", "files", "path", "dir", "directory", "name", "names", "type", "ref", "url", "uri", "endpoint",
		"ttl", "timeout", "seconds", "expiration", "expiry", "enabled", "required", "audience", "algorithm", "policy":
		return false
	case "auth", "otp", "psk", "pin", "pwd", "pw", "pass", "sig", "cred", "creds":
		return true
	}
	if keyVariable.MatchString(name) && !slices.Contains(words, "public") && !slices.Contains(words, "gpg") {
		return true
	}
	return secretWords.MatchString(strings.Join(words, ""))
}

// namePattern matches a name and the separator before its value in YAML, JSON (also inside a
// string), INI, a shell, a header or a query. The name can be labeled, as in the environment of a
// container and in the headers of an Ignition config: name: NAME, value: VALUE.
var namePattern = regexp.MustCompile(`(\bname\\?["']?\s*:\s*\\?["']?([A-Za-z0-9_.-]+)\\?["']?\s*,?\s*\\?["']?value|` +
	`([A-Za-z0-9_.-]+))\\?["']?[ \t]*(?::=|=>|[:=])[ \t]*`)

// maskNamed masks the value of each secret name. It also searches the values of other names:
// Environment=TOKEN=... contains two names.
func maskNamed(text string) string {
	var out strings.Builder
	written := 0
	for at := 0; ; {
		match := namePattern.FindStringSubmatchIndex(text[at:])
		if match == nil {
			out.WriteString(text[written:])
			return out.String()
		}
		before, nameFrom, nameTo := text[:at+match[2]], match[6], match[7]
		if match[4] >= 0 { // labeled
			before, nameFrom, nameTo = "", match[4], match[5]
		}
		name := text[at+nameFrom : at+nameTo]
		at += match[1]
		if isSecretName(name) {
			value := text[at : at+valueLength(text[at:], before)]
			out.WriteString(text[written:at] + maskValue(value))
			at += len(value)
			written = at
		}
	}
}

// openingQuote matches the quote before a value, also inside a JSON string.
var openingQuote = regexp.MustCompile(`^(?:\\?"|')`)

// valueLength returns the length of the value at the start of text; before is the text
// before the name.
func valueLength(text, before string) int {
	line, _, _ := strings.Cut(text, "\n")
	if quote := openingQuote.FindString(line); quote != "" {
		return quotedLength(line, quote)
	}
	if strings.HasPrefix(line, "[") {
		if end := strings.IndexByte(line, ']'); end > 0 && !strings.Contains(line[:end], "{") {
			return end + 1
		}
		return 0
	}
	if strings.HasPrefix(line, "{") {
		return 0 // determined by the names in the value
	}
	if strings.HasSuffix(before, `"`) || strings.HasSuffix(before, "'") {
		if end := strings.IndexByte(line, before[len(before)-1]); end >= 0 {
			return end // the quotes enclose name and value
		}
	}
	begin := strings.TrimLeft(before[strings.LastIndexByte(before, '\n')+1:], " \t-")
	if begin == "" || begin == "export " {
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

// notSecret matches values that contain no secret: booleans, masks, references to variables, and
// the beginning of a YAML block or list.
var notSecret = regexp.MustCompile(`^(?i:|true|false|yes|no|on|off|null|none|~|[|>][-+]?|\[(?:\*\*\*)?\]|\*\*\*|` +
	`\$(?:\w+|\{\w+\}|\(\w+\)))$`)

func maskValue(value string) string {
	if notSecret.MatchString(strings.Trim(value, `\"'`)) {
		return value
	}
	if quote := openingQuote.FindString(value); quote != "" {
		return quote + mask + quote
	}
	if strings.HasPrefix(value, "[") {
		return "[" + mask + "]"
	}
	return mask
}

var (
	// nestedName matches a line with a name whose value is on the following lines.
	nestedName = regexp.MustCompile(
		`^([ \t]*(?:- )?)["']?([A-Za-z0-9_.-]+)["']?[ \t]*[:=][ \t]*(?:([|>])[-+0-9]*|\[)?[ \t\r]*$`)
	// nestedItem matches an item of a list that consists of one value.
	nestedItem = regexp.MustCompile(`^([ \t]*(?:- *)?)["']?[^\s:"'{}\[\]=#]+={0,2}["']?(,?)[ \t\r]*$`)
)

// maskNested masks values on the lines after their name: YAML blocks, and lists.
func maskNested(text string) string {
	lines := strings.Split(text, "\n")
	var name []string // the submatches of the secret name above this line; nil if there is none
	for i, line := range lines {
		bare := strings.TrimLeft(line, " \t")
		indent := len(line) - len(bare)
		isBlock := name != nil && name[3] != ""
		switch item := nestedItem.FindStringSubmatch(line); {
		case isBlock && strings.TrimSpace(bare) == "":
			continue
		case isBlock && indent > len(name[1]):
			lines[i] = line[:indent] + mask
			continue
		case name != nil && !isBlock && item != nil:
			lines[i] = item[1] + mask + item[2]
			continue
		}
		name = nestedName.FindStringSubmatch(line)
		if name != nil && !isSecretName(name[2]) {
			name = nil
		}
	}
	return strings.Join(lines, "\n")
}
