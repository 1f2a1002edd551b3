// SPDX-License-Identifier: Apache-2.0

package ignition

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
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
			return "", errors.New("the token contains a space and does not start with Bearer")
		}
		text = strings.TrimSpace(rest)
	}
	if uuid.MatchString(text) {
		return "Bearer " + base64.StdEncoding.EncodeToString([]byte(text)), nil
	}
	decoded, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(decoded) == 0 {
		return "", fmt.Errorf("the token (%d characters) is neither a UUID nor a base64-encoded UUID", len(text))
	}
	if inner := string(bytes.TrimSpace(decoded)); inner != string(decoded) && uuid.MatchString(inner) {
		// `echo TOKEN | base64` encodes a line break, too.
		return "Bearer " + base64.StdEncoding.EncodeToString([]byte(inner)), nil
	}
	return "Bearer " + text, nil
}

// uuid matches a UUID in text form.
var uuid = regexp.MustCompile(`^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
