// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"bytes"
	"strings"
	"testing"

	"github.com/coreos/ignition/v2/config/v3_6/types"
	"github.com/vincent-petithory/dataurl"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Any input is resolved or rejected with an exit code and a remedy. A resolved config is
// complete: resolving it again does not change it.
func FuzzInline(f *testing.F) {
	f.Add([]byte(configWith("", fileEntry("/a", resourceAt(dataResource("a"), hash256("a"))))))
	f.Add([]byte(configWith(mergeSetting(resourceAt(dataResource(configWith("", fileEntry("/a", resourceAt("data:,a")))))),
		fileEntry("/a", resourceAt("s3://bucket/a")))))
	f.Add([]byte(configWith(replaceSetting(resourceAt(dataResource(configWith("")))),
		fileEntry("/a", resourceAt("http://host/a")))))
	f.Add([]byte(configWith(`"proxy":{"httpProxy":"http://p","noProxy":["a"]},"timeouts":{"httpTotal":1},` +
		caSetting(resourceAt("https://host/ca")))))
	f.Add([]byte(`{"ignition":{"version":"3.2.0"},"storage":{"luks":[{"name":"a","device":"/dev/a","keyFile":{"source":"tftp://a"}}]}}`))
	f.Add([]byte(`{"ignition":{"version":"2.2.0"}}`))
	f.Add([]byte(`{"ignition":{"version":"3.4.0"},"storage":{"files":[{"path":"/a","contents":{"source":"ftp://a"}}]}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		d, err := Offline(raw, "config", "")
		if err != nil {
			if report.CodeOf(err) != report.Usage || report.RemedyOf(err) == "" {
				t.Errorf("error without code or remedy: %v", err)
			}
			return
		}
		again, err := Offline(d.Raw, "config", "")
		if err != nil {
			t.Fatalf("the document is not whole: %v", err)
		}
		if !bytes.Equal(again.Raw, d.Raw) || len(contentsOf(t, again)) != len(contentsOf(t, d)) {
			t.Errorf("resolved again, it is another: %s", again.Raw)
		}
	})
}

// A data URL decodes as with package dataurl, to bytes within the limit, or to an error without a part of the URL.
func FuzzDataURL(f *testing.F) {
	f.Add("data:,hello%2C%20world", "", "")
	f.Add("data:text/plain;charset=utf-8;base64,aGVsbG8=", "", "sha256-00")
	f.Add("data:;base64,H4sIAAAAAAACA0vMTEkFAAAA//8=", "gzip", "")
	f.Add("data:application/octet-stream;base64,YQ==\r\n", "", "")
	f.Add("data:;base64,", "", "")
	f.Add("data:;base64", "", "")
	f.Add("data:;base64,YQ=", "", "")
	f.Add("https://host/?a", "", "")
	f.Fuzz(func(t *testing.T, source, compression, hash string) {
		r := types.Resource{Source: &source, Compression: &compression}
		if hash != "" {
			r.Verification.Hash = &hash
		}
		decoded, err := decodeDataURL(source)
		want, wantErr := dataurl.DecodeString(source)
		if (err == nil) != (wantErr == nil) || (err == nil && !bytes.Equal(decoded, want.Data)) {
			t.Errorf("%q, %v, want %v, %v", decoded, err, want, wantErr)
		}
		const limit = 1 << 16
		content, err := (&Unpacker{limit: limit}).Decode(r)
		if err == nil && len(content) > limit {
			t.Errorf("%d bytes", len(content))
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("error %q", err)
		}
	})
}
