// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"strings"
)

// encoding is one of the encodings of file contents in a real payload.
type encoding int

const (
	percent   encoding = iota // MCO's templates, and what the machine-config server appends
	base64URL                 // HyperShift's own files
	base64MCO                 // MCO's sub-controllers, with an empty compression
	gzipped                   // butane, for an administrator's own files
)

func (e encoding) encode(content []byte) (Contents, error) {
	empty, gz := "", "gzip"
	switch e {
	case percent:
		return Contents{Source: "data:," + percentEncode(content)}, nil
	case base64URL:
		return Contents{Source: textBase64(content)}, nil
	case base64MCO:
		return Contents{Compression: &empty, Source: textBase64(content)}, nil
	case gzipped:
		compressed, err := compress(content)
		if err != nil {
			return Contents{}, err
		}
		return Contents{Compression: &gz, Source: "data:;base64," + base64.StdEncoding.EncodeToString(compressed)}, nil
	}
	return Contents{}, fmt.Errorf("no encoding %d", e)
}

func textBase64(content []byte) string {
	return "data:text/plain;charset=utf-8;base64," + base64.StdEncoding.EncodeToString(content)
}

// percentEncode escapes the same bytes as MCO's data URL library.
func percentEncode(content []byte) string {
	const literal = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.!~*'()"
	var b strings.Builder
	for _, c := range content {
		if strings.IndexByte(literal, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// compress returns the same bytes for the same content: the header contains no name and no time.
func compress(content []byte) ([]byte, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(content); err != nil {
		return nil, fmt.Errorf("compressing: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("compressing: %w", err)
	}
	return b.Bytes(), nil
}
