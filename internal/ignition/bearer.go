package ignition

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
)

// bearer makes the value of the Authorization header. The server wants exactly
// one layer of base64 over the token, which is a UUID in text form; a token
// Secret's .data.token as it is printed is that layer already, while `oc
// extract` and `base64 -d` take it off. So all three forms are accepted, and a
// whole header value too. No error shows the token.
func bearer(token []byte) (string, error) {
	text := string(bytes.TrimSpace(token))
	if scheme, rest, found := strings.Cut(text, " "); found {
		if !strings.EqualFold(scheme, "Bearer") {
			return "", fmt.Errorf("it has a space in it and does not begin with Bearer")
		}
		text = strings.TrimSpace(rest)
	}
	if isUUID(text) {
		return "Bearer " + base64.StdEncoding.EncodeToString([]byte(text)), nil
	}
	decoded, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(decoded) == 0 {
		return "", fmt.Errorf("its %d characters are neither a UUID nor the base64 of one", len(text))
	}
	if inner := string(bytes.TrimSpace(decoded)); inner != string(decoded) && isUUID(inner) {
		// `echo TOKEN | base64` puts a line break inside the base64.
		return "Bearer " + base64.StdEncoding.EncodeToString([]byte(inner)), nil
	}
	return "Bearer " + text, nil
}

// isUUID tells the text form, 8-4-4-4-12 hexadecimal digits.
func isUUID(text string) bool {
	if len(text) != 36 {
		return false
	}
	for i, c := range []byte(text) {
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if !strings.ContainsRune("0123456789abcdefABCDEF", rune(c)) {
				return false
			}
		}
	}
	return true
}
