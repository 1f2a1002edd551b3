// SPDX-License-Identifier: Apache-2.0

package service

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

// Administrators select Events and write alerts by reason. Each reason must be documented,
// and only reasons that a finding can have.
func TestReasonsAreDocumentedAndUsed(t *testing.T) {
	declared := submatches(t, "../report/finding.go", `Reason = "(\w+)"`)
	documented := submatches(t, "../../docs/day-2.md", "(?m)^\\| `([A-Z]\\w+)` \\|")
	slices.Sort(declared)
	slices.Sort(documented)
	if diff := cmp.Diff(declared, documented); diff != "" {
		t.Errorf("docs/day-2.md (-code +document):\n%s", diff)
	}
	var used []string
	flowtest.NoError(t, filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			used = append(used, submatches(t, path, `\breport\.(\w+)`)...)
		}
		return err
	}))
	for _, reason := range declared {
		if !slices.Contains(used, reason) {
			t.Errorf("no finding has the reason %s", reason)
		}
	}
}

// submatches returns the submatch of every match in a file.
func submatches(t *testing.T, path, pattern string) []string {
	t.Helper()
	content, err := os.ReadFile(path)
	flowtest.NoError(t, err)
	var found []string
	for _, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(content), -1) {
		found = append(found, match[1])
	}
	return found
}

func TestMetricsAreDocumented(t *testing.T) {
	written := regexp.MustCompile(`# TYPE (\w+)`).FindAllStringSubmatch(exampleMetrics(t), -1)
	documented := submatches(t, "../../docs/monitoring.md", "(?m)^\\| `(hcp_node_agent_\\w+)` \\|")
	var names []string
	for _, match := range written {
		names = append(names, match[1])
	}
	slices.Sort(names)
	slices.Sort(documented)
	if diff := cmp.Diff(names, documented); diff != "" {
		t.Errorf("docs/day-2.md (-code +document):\n%s", diff)
	}
}
