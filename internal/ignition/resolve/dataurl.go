package resolve

import (
	"encoding/base64"
	"errors"
	"net/url"
	"strings"

	"github.com/vincent-petithory/dataurl"
)

// decode returns the bytes of a data URL. The usual forms are decoded here, because package
// dataurl, which decodes all other forms, takes ten times as long.
func decode(source string) ([]byte, error) {
	if content, ok := decodeUsual(source); ok {
		return content, nil
	}
	decoded, err := dataurl.DecodeString(source)
	if err != nil {
		return nil, errors.New("decoding data URL: it is not one") // the cause contains part of the URL
	}
	return decoded.Data, nil
}

// decodeUsual decodes the forms that machine-config-operator and Butane write. It reports false
// for all others.
func decodeUsual(source string) ([]byte, bool) {
	rest, is := strings.CutPrefix(source, "data:")
	if !is {
		return nil, false
	}
	rest = strings.TrimPrefix(rest, "text/plain;charset=utf-8")
	if encoded, is := strings.CutPrefix(rest, ";base64,"); is {
		if strings.ContainsAny(encoded, "\r\n") { // base64 skips them
			return nil, false
		}
		content, err := base64.StdEncoding.DecodeString(encoded)
		return content, err == nil
	}
	escaped, is := strings.CutPrefix(rest, ",")
	if !is || strings.ContainsFunc(escaped, needsEscape) {
		return nil, false
	}
	content, err := url.PathUnescape(escaped)
	return []byte(content), err == nil
}

// needsEscape reports whether a character is neither a percent sign nor allowed in a URL.
func needsEscape(c rune) bool {
	return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("-_.!~*'();/?:@&=+$,%", c)
}
