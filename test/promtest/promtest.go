// SPDX-License-Identifier: Apache-2.0

// Package promtest checks metrics and alerts with the real tools of Prometheus. Its tests are skipped without them.
package promtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// RequireProgram returns the path of a program, and skips the test without it.
func RequireProgram(t *testing.T, name, debianPackage string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed (Debian: apt-get install %s)", name, debianPackage)
	}
	return path
}

// CheckMetrics checks names, types and help texts by the conventions of Prometheus.
func CheckMetrics(t *testing.T, text string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), RequireProgram(t, "promtool", "prometheus"), "check", "metrics")
	command.Stdin = strings.NewReader(text)
	if output, err := command.CombinedOutput(); err != nil || len(output) > 0 {
		t.Errorf("%v: %s", err, output)
	}
}

// Rule is an alert of a PrometheusRule.
type Rule struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	Annotations map[string]string `json:"annotations"`
}

// ReadRules returns the alerts of manifests, without recording rules.
func ReadRules(t *testing.T, manifests ...string) []Rule {
	t.Helper()
	var rules []Rule
	for _, group := range readGroups[struct{ Rules []Rule }](t, manifests) {
		rules = append(rules, group.Rules...)
	}
	return slices.DeleteFunc(rules, func(rule Rule) bool { return rule.Alert == "" })
}

// readGroups returns the groups of PrometheusRules.
func readGroups[T any](t *testing.T, manifests []string) []T {
	t.Helper()
	var groups []T
	for _, path := range manifests {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var manifest struct{ Spec struct{ Groups []T } }
		if err := yaml.Unmarshal(content, &manifest); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		groups = append(groups, manifest.Spec.Groups...)
	}
	return groups
}

// CheckAlerts runs the alerts of PrometheusRules in promtool, with a file of unit tests that expects each of them. The
// file names the rules rules.yaml.
func CheckAlerts(t *testing.T, unitTests string, manifests ...string) {
	t.Helper()
	tests, err := os.ReadFile(unitTests)
	if err != nil {
		t.Fatal(err)
	}
	rules, err := yaml.Marshal(map[string]any{"groups": readGroups[any](t, manifests)})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "rules.yaml"), rules)
	write(t, filepath.Join(dir, "tests.yaml"), tests)
	runPromtool(t, dir, "check", "rules", "--lint-fatal", "rules.yaml")
	runPromtool(t, dir, "test", "rules", "tests.yaml")
	for _, rule := range ReadRules(t, manifests...) {
		expected := `alertname: ` + rule.Alert + `\n +eval_time: \w+\n +exp_alerts:`
		if !regexp.MustCompile(expected).Match(tests) {
			t.Errorf("%s expects no alert %s", unitTests, rule.Alert)
		}
	}
}

func runPromtool(t *testing.T, dir string, args ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), RequireProgram(t, "promtool", "prometheus"), args...)
	command.Dir = dir
	if output, err := command.CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, output)
	}
}

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// CheckRunbooks checks that each alert has a runbook that is a section of a document.
func CheckRunbooks(t *testing.T, document string, manifests ...string) {
	t.Helper()
	content, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	var anchors []string
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllSubmatch(content, -1) {
		anchors = append(anchors, "docs/"+filepath.Base(document)+"#"+strings.ToLower(string(heading[1])))
	}
	for _, rule := range ReadRules(t, manifests...) {
		_, anchor, _ := strings.Cut(rule.Annotations["runbook_url"], "/blob/main/")
		if !slices.Contains(anchors, anchor) || !strings.HasSuffix(anchor, "#"+strings.ToLower(rule.Alert)) {
			t.Errorf("the runbook of %s is %q", rule.Alert, rule.Annotations["runbook_url"])
		}
	}
}
