package payload

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"strings"
)

// encoding is one of the ways in which the parts of a real payload write a
// file's content.
type encoding int

const (
	percent   encoding = iota // MCO's templates, and what the machine-config server appends
	base64URL                 // HyperShift's own files
	base64MCO                 // what MCO's sub-controllers render: with an empty compression
	gzipped                   // what butane writes for an administrator's own files
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

// percentEncode escapes every byte that the data URL library of MCO escapes.
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

// compress makes the same bytes each time: no name and no time in the header.
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
