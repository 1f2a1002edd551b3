// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func TestCheckConnections(t *testing.T) {
	refused := report.Fail(report.Failed, "curl -kvm 20 https://host", "host:443 refused the connection")
	connections := []Connection{
		{Name: "the API server", RefusesJoin: true, Err: refused, Needed: "the join fails"},
		{Name: "registry quay.io", Err: refused, Needed: "images cannot be pulled"},
		{Name: "peer host", Needed: "the join fails"},
		{Name: "the konnectivity server", Unchecked: "its address is unknown", Remedy: "# use --verify-reach"},
	}
	want := []report.Finding{
		{
			Severity: report.SeverityProblem, RefusesJoin: true, Code: report.Failed, Remedy: "curl -kvm 20 https://host",
			Message: "the API server: host:443 refused the connection; the join fails",
		},
		{
			Severity: report.SeverityWarning, Remedy: "curl -kvm 20 https://host",
			Message: "registry quay.io: host:443 refused the connection; images cannot be pulled",
		},
		{
			Severity: report.SeverityNote, Remedy: "# use --verify-reach",
			Message: "the konnectivity server: not checked: its address is unknown",
		},
	}
	if diff := cmp.Diff(want, checkConnections(connections)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !AnyChecked(connections) || AnyChecked(connections[3:]) {
		t.Errorf("AnyChecked() = %t, %t, want true, false", AnyChecked(connections), AnyChecked(connections[3:]))
	}
}
