// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/test/promtest"
)

const (
	monitoringManifests = "../../../deploy/monitoring/controller/"
	alertRules          = monitoringManifests + "prometheusrule.yaml"
)

func TestPromtoolAcceptsMetrics(t *testing.T) {
	_, text := scrapeFleet(t, exampleFleet())
	promtest.CheckMetrics(t, text)
}

func TestAlerts(t *testing.T) { promtest.CheckAlerts(t, "testdata/alerts.yaml", alertRules) }

func TestAlertsHaveRunbooks(t *testing.T) {
	promtest.CheckRunbooks(t, "../../../docs/monitoring.md", alertRules)
}

func TestMetricsAreDocumented(t *testing.T) {
	_, text := scrapeFleet(t, exampleFleet())
	exported := submatches(text, `# TYPE (\w+)`)
	documented := submatches(readDocument(t), "(?m)^\\| `("+prefix+"\\w+)` \\|")
	slices.Sort(documented)
	if diff := cmp.Diff(exported, documented); diff != "" {
		t.Errorf("docs/monitoring.md (-code +document):\n%s", diff)
	}
}

func readDocument(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile("../../../docs/monitoring.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// submatches returns the submatch of every match.
func submatches(text, pattern string) []string {
	var found []string
	for _, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		found = append(found, match[1])
	}
	return found
}
