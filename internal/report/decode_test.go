// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"
	"testing"
)

func TestDecode(t *testing.T) {
	const header = `"apiVersion":"hcp-node-agent.io/v1alpha1","kind":"Example"`
	for content, test := range map[string]struct {
		message string // "" if the document is read
		code    Code
	}{
		`{` + header + `,"name":"x"}`:                               {"", Success},
		`{"apiVersion":"hcp-node-agent.io/v9","kind":"Example"}`:    {`in version "hcp-node-agent.io/v9"`, Refused},
		`{"apiVersion":"hcp-node-agent.io/v1alpha1","kind":"Else"}`: {`of kind "Else"`, Refused},
		`{"name":"x"}`:                 {`of kind ""`, Refused},
		`{` + header + `,"future":1}`:  {`does not know the field "future"`, Refused},
		`{` + header + `,"name":1}`:    {"cannot unmarshal number", Failed},
		`{` + header + `,"name":"x"}1`: {"invalid character", Failed},
		`{` + header + `,`:             {"unexpected end", Failed},
	} {
		var document struct {
			TypeMeta
			Name string `json:"name"`
		}
		err := Decode("Example", []byte(content), &document)
		if CodeOf(err) != test.code || (err != nil && !strings.Contains(err.Error(), test.message)) {
			t.Errorf("%s: %v (code %d), want %q (code %d)", content, err, CodeOf(err), test.message, test.code)
		}
		if refused := CodeOf(err) == Refused; refused != strings.HasPrefix(string(RemedyOf(err)),
			"dnf upgrade 'hcp-node-*' #") {
			t.Errorf("%s: remedy %q", content, RemedyOf(err))
		}
	}
}
