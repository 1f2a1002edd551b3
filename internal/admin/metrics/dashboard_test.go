// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/test/promtest"
)

// dashboard contains the part of a dashboard that OpenShift's console reads.
type dashboard struct {
	Title string
	Rows  []struct {
		Title  string
		Panels []panel
	}
}

type panel struct {
	ID      int
	Title   string
	Type    string
	Span    int
	Targets []struct{ RefID, Expr, LegendFormat string }
	Styles  []struct{ Pattern, Alias, Type string }
}

func readDashboard(t *testing.T) (panels []panel) {
	t.Helper()
	content, err := os.ReadFile(monitoringManifests + "dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var board dashboard
	if err := json.Unmarshal(content, &board); err != nil {
		t.Fatal(err)
	}
	if board.Title == "" {
		t.Error("the dashboard has no title")
	}
	for _, row := range board.Rows {
		width := 0
		for _, one := range row.Panels {
			width += one.Span
		}
		if row.Title == "" || width%12 != 0 {
			t.Errorf("the row %q has %d columns", row.Title, width)
		}
		panels = append(panels, row.Panels...)
	}
	return panels
}

// The dashboard for Grafana has the same panels and expressions, without panels that current versions lack.
func TestDashboardsAgree(t *testing.T) {
	content, err := os.ReadFile("../../../deploy/monitoring/grafana/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct{ Panels []panel }
	if err := json.Unmarshal(content, &board); err != nil {
		t.Fatal(err)
	}
	types := map[string]string{"singlestat": "stat", "graph": "timeseries", "table": "table"}
	var want, got []panel
	for _, one := range readDashboard(t) {
		want = append(want, panel{Title: one.Title, Type: types[one.Type], Targets: one.Targets})
	}
	for _, one := range board.Panels {
		if one.Type != "row" {
			got = append(got, panel{Title: one.Title, Type: one.Type, Targets: one.Targets})
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-console +Grafana):\n%s", diff)
	}
}

// expressions returns the expressions of the dashboard.
func expressions(t *testing.T) []string {
	t.Helper()
	var list []string
	for _, one := range readDashboard(t) {
		for _, target := range one.Targets {
			list = append(list, target.Expr)
		}
	}
	return list
}

// OpenShift's console shows only these panels, and not without their fields.
func TestDashboardIsSupportedByConsole(t *testing.T) {
	ids := map[int]bool{}
	for _, one := range readDashboard(t) {
		if !slices.Contains([]string{"graph", "singlestat", "table"}, one.Type) || one.Title == "" || ids[one.ID] ||
			len(one.Targets) == 0 || (one.Type == "singlestat" && len(one.Targets) != 1) {
			t.Errorf("unsupported panel: %+v", one)
		}
		ids[one.ID] = true
		var columns, values []string
		for _, style := range one.Styles {
			if style.Type == "hidden" {
				continue
			}
			if style.Alias == "" {
				t.Errorf("%s: the console hides the column %s", one.Title, style.Pattern)
			}
			if strings.HasPrefix(style.Pattern, "Value #") {
				values = append(values, strings.TrimPrefix(style.Pattern, "Value #"))
			} else {
				columns = append(columns, style.Pattern)
			}
		}
		slices.Sort(columns)
		for i, target := range one.Targets {
			switch labels := labelsOf(target.Expr); {
			case one.Type == "table" && (!slices.Equal(labels, columns) || i >= len(values) || values[i] != target.RefID):
				t.Errorf("%s: %s has the labels %q, columns are %q and %q", one.Title, target.Expr, labels, columns, values)
			case one.Type == "graph" && target.LegendFormat != "{{"+strings.Join(labels, "")+"}}":
				t.Errorf("%s: the legend %s of %s", one.Title, target.LegendFormat, target.Expr)
			}
		}
	}
}

// labelsOf returns the sorted labels of the result of an expression: those of its first aggregation.
func labelsOf(expression string) []string {
	match := regexp.MustCompile(`by \(([^)]*)\)`).FindStringSubmatch(expression)
	if match == nil {
		return nil
	}
	labels := strings.Split(match[1], ", ")
	slices.Sort(labels)
	return labels
}

func TestExpressions(t *testing.T) {
	list := expressions(t)
	promtest.CheckExpressions(t, list)
	for _, rule := range promtest.ReadRules(t, alertRules) {
		list = append(list, rule.Expr)
	}
	names := submatches(readDocument(t), "`(\\w+)`")
	kept := regexp.MustCompile("^(" + readManifest[podMonitor](t, "podmonitor.yaml").keep(t) + ")$")
	for _, expression := range list {
		found := promtest.MetricNames(expression)
		for _, name := range found {
			if !slices.Contains(names, name) {
				t.Errorf("%s: no metric %s is documented", expression, name)
			}
			if !strings.HasPrefix(name, "hcp_node_agent_") && !kept.MatchString(name) {
				t.Errorf("%s: the PodMonitor drops %s", expression, name)
			}
		}
		if len(found) == 0 && !strings.Contains(expression, "up{") {
			t.Errorf("%s: no metric", expression)
		}
	}
}

// The real Prometheus scrapes two replicas and one agent, and evaluates the dashboard.
func TestPrometheusEvaluatesDashboard(t *testing.T) {
	_, text := scrapeFleet(t, exampleFleet())
	text += "controller_runtime_reconcile_errors_total{controller=\"csr\"} 0\nleader_election_master_status{name=\"" +
		v1alpha1.ControllerName + "\"} "
	server := promtest.Start(t,
		promtest.Target{Job: "hcp-node-admin", Metrics: text + "1\n"},
		promtest.Target{Job: "hcp-node-admin", Metrics: text + "0\n"},
		promtest.Target{
			Job: "hcp-node-agent", Metrics: "hcp_node_agent_findings{check=\"node\",severity=\"problem\"} 2\n" +
				"hcp_node_agent_node_info{node=\"a\",nodepool=\"workers\"} 1\n",
		})
	server.Query(t, `count(up{job="hcp-node-admin"} == 1) == 2`)
	for _, expression := range expressions(t) {
		server.Query(t, expression)
	}
	for expression, want := range map[string][]promtest.Sample{
		`sum(max by (nodepool, phase) (hcp_node_admin_enrollments))`: {{Value: 6}},
		`sum by (phase) (max by (nodepool, phase) (hcp_node_admin_enrollments{phase="Upgrading"}))`: {
			{Labels: map[string]string{"phase": "Upgrading"}, Value: 2},
		},
		`max by (nodepool) (hcp_node_admin_rollout_updated_nodes) / (max by (nodepool) (hcp_node_admin_rollout_nodes) > 0)`: {
			{Labels: map[string]string{"nodepool": "workers"}, Value: 0.25},
		},
	} {
		got := server.Query(t, expression)
		for i := range got {
			if len(got[i].Labels) == 0 {
				got[i].Labels = nil
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", expression, diff)
		}
	}
}

// podMonitor contains the used part of a PodMonitor.
type podMonitor struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Selector            metav1.LabelSelector
		PodMetricsEndpoints []struct {
			Port                           string
			Relabelings, MetricRelabelings []struct{ TargetLabel, Replacement, Regex, Action string }
		}
	}
}

// keep returns the regular expression of the metrics that are stored.
func (m podMonitor) keep(t *testing.T) string {
	t.Helper()
	relabeling := m.Spec.PodMetricsEndpoints[0].MetricRelabelings[0]
	if relabeling.Action != "keep" {
		t.Fatalf("the PodMonitor has %+v", relabeling)
	}
	return relabeling.Regex
}

// The PodMonitor and the NetworkPolicy must select the same pods and port, and the kustomization must have every
// manifest.
func TestMonitoringManifests(t *testing.T) {
	monitor := readManifest[podMonitor](t, "podmonitor.yaml")
	policy := readManifest[networkingv1.NetworkPolicy](t, "networkpolicy.yaml")
	diff := cmp.Diff(monitor.Spec.Selector, policy.Spec.PodSelector)
	if diff != "" || monitor.Namespace != policy.Namespace {
		t.Errorf("the selectors differ (-PodMonitor +NetworkPolicy):\n%s", diff)
	}
	endpoint, port := monitor.Spec.PodMetricsEndpoints[0], policy.Spec.Ingress[0].Ports[0].Port.StrVal
	if endpoint.Port != port || endpoint.Relabelings[0].TargetLabel != "job" ||
		endpoint.Relabelings[0].Replacement != "hcp-node-admin" {
		t.Errorf("port %s, endpoint %+v", port, endpoint)
	}
	kustomization := readManifest[struct{ Resources []string }](t, "kustomization.yaml")
	files, err := filepath.Glob(monitoringManifests + "*.yaml")
	if err != nil || len(kustomization.Resources) != len(files)-1 {
		t.Errorf("the kustomization has %q, not all of %q (%v)", kustomization.Resources, files, err)
	}
}

func readManifest[T any](t *testing.T, name string) (object T) {
	t.Helper()
	content, err := os.ReadFile(monitoringManifests + name)
	if err == nil {
		err = yaml.Unmarshal(content, &object)
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return object
}
