// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Print writes the report as text. Checks without problems are on one line each.
func (r Report) Print(page *report.Page) {
	page.Findings(r.Findings)
	counts := page.Good("no problems found")
	if text := report.CountFindings(r.Findings); text != "" {
		counts = text
	}
	page.Printf("%s: %s\n", cmp.Or(r.NodeName, r.Hostname, "this host"), counts)
}
