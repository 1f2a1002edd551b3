package ignition

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// bearerHeader returns the value of the Authorization header for a token. The ignition server requires
// exactly one layer of base64 around the token, which is a UUID in text form. The value of
// .data.token in a token Secret has this layer; `oc extract` and `base64 -d` remove it.
// Therefore bearer accepts both forms, and a complete header value. No error contains the token.
func bearerHeader(token []byte) (string, error) {
	text := string(bytes.TrimSpace(token))
	if scheme, rest, found := strings.Cut(text, " "); found {
		if !strings.EqualFold(scheme, "Bearer") {
			return "", errors.New("it has a space in it and does not begin with Bearer")
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
		// `echo TOKEN | base64` encodes a line break, too.
		return "Bearer " + base64.StdEncoding.EncodeToString([]byte(inner)), nil
	}
	return "Bearer " + text, nil
}

// isUUID reports whether text is a UUID in text form: 8-4-4-4-12 hexadecimal digits.
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
