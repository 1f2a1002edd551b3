// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
)

// A name with characters that are special to a shell or terminal appears in no command, and is
// quoted in every message.
func TestSpecialNamesAreQuoted(t *testing.T) {
	for _, name := range []string{"$(id>&2)", "x;touch pwned;#", "\x1b[2J", "x\rapproved worker-9", "-o", "a " +
		"b", "`id`", ""} {
		csr := validServingCSR(certtest.NewKey(t)).csr(t)
		csr.Name = name
		d := Decide(csr, nil, Facts{})
		if d.Outcome != Ignored || d.Remedy != "" {
			t.Errorf("%q: %s, remedy %q", name, d.Outcome, d.Remedy)
		}
		if shown := DisplayName(name); !strings.HasPrefix(shown, `"`) || strings.ContainsAny(shown, "\x1b\r") {
			t.Errorf("%q is shown as %s", name, shown)
		}
	}
	csr := validServingCSR(certtest.NewKey(t)).csr(t)
	csr.Name = "node-csr-hrT5dyhxiEMTWXLFLseT0CwcVJQrEDlQv_gYj0U9_Zg"
	if d := Decide(csr, nil, Facts{}); !strings.HasPrefix(string(d.Remedy),
		"oc adm certificate approve "+csr.Name+" ") ||
		DisplayName(csr.Name) != csr.Name {
		t.Errorf("remedy %q, shown as %s", d.Remedy, DisplayName(csr.Name))
	}
}
