// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWriteMetrics(t *testing.T) {
	var out strings.Builder
	err := WriteMetrics(&out, []Metric{
		{Name: "hcp_node_agent_checked_seconds", Help: "When.", Samples: []Sample{{Value: 1795290000}}},
		{Name: "hcp_node_agent_findings", Help: "A \\ and a\nline \"quoted\".", Samples: []Sample{
			{Labels: [][2]string{{"severity", "problem"}, {"look", "a \"b\" \\ \n"}}, Value: 2},
			{Labels: [][2]string{{"severity", "warning"}}, Value: 0.5},
		}},
		{Name: "hcp_node_agent_nothing", Help: "Is left out."},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `# HELP hcp_node_agent_checked_seconds When.
# TYPE hcp_node_agent_checked_seconds gauge
hcp_node_agent_checked_seconds 1795290000
# HELP hcp_node_agent_findings A \\ and a\nline "quoted".
# TYPE hcp_node_agent_findings gauge
hcp_node_agent_findings{severity="problem",look="a \"b\" \\ \n"} 2
hcp_node_agent_findings{severity="warning"} 0.5
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
