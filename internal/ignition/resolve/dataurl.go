package resolve

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/vincent-petithory/dataurl"
)

// decode gives the bytes of a data URL. What clusters serve is decoded here; the
// package, which has the last word, takes ten times as long for it.
func decode(source string) ([]byte, error) {
	if content, ok := decodeUsual(source); ok {
		return content, nil
	}
	decoded, err := dataurl.DecodeString(source)
	if err != nil {
		return nil, errors.New("decoding data URL: it is not one") // the cause would show a piece of it
	}
	return decoded.Data, nil
}

// decodeUsual decodes what machine-config-operator and Butane write. Not ok says
// nothing at all.
func decodeUsual(source string) ([]byte, bool) {
	rest, is := strings.CutPrefix(source, "data:")
	if !is {
		return nil, false
	}
	rest = strings.TrimPrefix(rest, "text/plain;charset=utf-8")
	if encoded, is := strings.CutPrefix(rest, ";base64,"); is {
		if strings.ContainsAny(encoded, "\r\n") { // the decoder passes over them
			return nil, false
		}
		content, err := base64.StdEncoding.DecodeString(encoded)
		return content, err == nil
	}
	escaped, is := strings.CutPrefix(rest, ",")
	if !is {
		return nil, false
	}
	return unescape(escaped)
}

// unescape decodes %XX. What else can be in a URL beside letters, digits and
// the characters that need no escaping is left to others.
func unescape(escaped string) ([]byte, bool) {
	content := make([]byte, 0, len(escaped))
	for i := 0; i < len(escaped); i++ {
		c := escaped[i]
		if c != '%' {
			if !plain(c) {
				return nil, false
			}
			content = append(content, c)
			continue
		}
		if i+2 >= len(escaped) {
			return nil, false
		}
		var err error
		if content, err = hex.AppendDecode(content, []byte(escaped[i+1:i+3])); err != nil {
			return nil, false
		}
		i += 2
	}
	return content, true
}

func plain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-_.!~*'();/?:@&=+$,", c) >= 0
}
