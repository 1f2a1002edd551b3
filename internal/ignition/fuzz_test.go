// SPDX-License-Identifier: Apache-2.0

package ignition

import (
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Any input is parsed or rejected with the exit code for bad input. Parsed user data is equal
// after encoding and parsing it again.
func FuzzParseUserData(f *testing.F) {
	f.Add([]byte(`{"ignition":{"version":"3.2.0","config":{"merge":[{"source":"https://a/ignition","httpHeaders":[{"name":"Authorization","value":"Bearer YQ=="}]}]},"proxy":{"httpsProxy":"http://p","noProxy":["a"]}}}`))
	f.Add([]byte(`{"ignition":{"version":"2.2.0"}}`))
	f.Add([]byte("kind: Secret\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		userData, err := ParseUserData(content)
		if err != nil {
			if report.CodeOf(err) != report.Usage || report.RemedyOf(err) == "" {
				t.Errorf("error without code or remedy: %v", err)
			}
			return
		}
		if userData.Source == nil || userData.Source.Scheme != "https" {
			t.Errorf("source %v", userData.Source)
		}
		encoded, err := userData.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseUserData(encoded)
		if err != nil {
			t.Fatalf("not read back: %v", err)
		}
		if again.Source.String() != userData.Source.String() ||
			again.Headers.Get(headerAuthorization) != userData.Headers.Get(headerAuthorization) {
			t.Errorf("read back as %s", again)
		}
	})
}
