// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"errors"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// A CSR whose name is special to a shell or a terminal is in no remedy, and is quoted in every message.
func TestExplainOwnQuotesNames(t *testing.T) {
	for _, name := range []string{"$(id>&2)", "\x1b[2J", "x\rapproved worker-9", "-o", ""} {
		for _, cause := range []error{errors.New("broken"), &approver.Refusal{Rule: "key"}} {
			err := explainOwn(cause, "https://api", name)
			if report.RemedyOf(err) != "" || strings.ContainsAny(err.Error(), "\x1b\r") {
				t.Errorf("%q: %v, remedy %q", name, err, report.RemedyOf(err))
			}
		}
	}
}
