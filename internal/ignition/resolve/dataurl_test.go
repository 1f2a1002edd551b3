package resolve

import (
	"bytes"
	"testing"

	"github.com/vincent-petithory/dataurl"
)

// decodeUsual returns the same bytes as package dataurl.
func FuzzDecodeUsual(f *testing.F) {
	for _, source := range []string{
		"data:,", "data:,a%20b%0a%2B%2b+;/?", "data:,%", "data:,%4", "data:,%4g", "data:,a b", "data:,ä", "data:,a#b", "data:a",
		"data:;base64,", "data:;base64,aGVsbG8=", "data:;base64,aGVsbG8", "data:;base64,aGVs\nbG8=", "data:;base64,aGVs\rbG8=", "data:;base64,aGVs%0AbG8=",
		"data:text/plain;charset=utf-8;base64,aGVsbG8=", "data:text/plain;charset=utf-8,hello", "data:text/plain,hello", "http://a",
	} {
		f.Add(source)
	}
	f.Fuzz(func(t *testing.T, source string) {
		content, ok := decodeUsual(source)
		if !ok {
			return
		}
		want, err := dataurl.DecodeString(source)
		if err != nil {
			t.Fatalf("%q is decoded, and is no data URL: %v", source, err)
		}
		if content == nil || !bytes.Equal(content, want.Data) {
			t.Errorf("%q is %q, want %q", source, content, want.Data)
		}
	})
}

func TestDecodeUsual(t *testing.T) {
	for source, want := range map[string]bool{
		"data:,a%20b": true, "data:;base64,aGVsbG8=": true, "data:text/plain;charset=utf-8;base64,aGVsbG8=": true,
		"data:text/plain;charset=utf-8,hello": true, "data:application/octet-stream;base64,aGVsbG8=": false, "data:,a b": false, "data:,%0": false,
	} {
		if _, ok := decodeUsual(source); ok != want {
			t.Errorf("%s: %t", source, ok)
		}
	}
}
