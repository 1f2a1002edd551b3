// SPDX-License-Identifier: Apache-2.0

package promtest

import (
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"sigs.k8s.io/yaml"
)

// CheckExpressions checks the syntax of expressions.
func CheckExpressions(t *testing.T, expressions []string) {
	t.Helper()
	var rules []map[string]string
	for i, expression := range expressions {
		rules = append(rules, map[string]string{"record": "expression:" + strconv.Itoa(i), "expr": expression})
	}
	content, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "expressions", "rules": rules}}})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "rules.yaml"), content)
	runPromtool(t, dir, "check", "rules", "--lint=none", "rules.yaml")
}

var (
	stringLiteral = regexp.MustCompile(`"[^"]*"`)
	metricName    = regexp.MustCompile(`\b([a-z]+_\w+)\b(\s*\()?`) // functions and operators have parentheses
)

// MetricNames returns the names of the metrics in an expression, of those that contain an underscore. No label of the
// expression may contain one.
func MetricNames(expression string) []string {
	var names []string
	for _, match := range metricName.FindAllStringSubmatch(stringLiteral.ReplaceAllString(expression, ""), -1) {
		if match[2] == "" {
			names = append(names, match[1])
		}
	}
	return names
}
