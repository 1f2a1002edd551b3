// SPDX-License-Identifier: Apache-2.0

package service

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"

	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/promtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

const monitoringManifests = "../../deploy/monitoring/"

// alertRules are the manifests with alerts.
var alertRules = []string{monitoringManifests + "prometheusrule.yaml", monitoringManifests + "prometheusrule-pods.yaml"}

func TestPromtoolAcceptsMetrics(t *testing.T) { promtest.CheckMetrics(t, exampleMetrics(t)) }

func TestAlerts(t *testing.T) { promtest.CheckAlerts(t, "testdata/alerts.yaml", alertRules...) }

// TestAlertsUseExistingNames checks that the metrics, labels and runbooks that the alerts name exist.
func TestAlertsUseExistingNames(t *testing.T) {
	metrics := exampleMetrics(t)
	for _, name := range submatches(t, alertRules[0], `\b(hcp_node_agent_\w+)`) {
		if !strings.Contains(metrics, "\n"+name) {
			t.Errorf("the agent writes no metric %s", name)
		}
	}
	reasons := submatches(t, "../report/finding.go", `Reason = "(\w+)"`)
	for _, list := range submatches(t, alertRules[0], `reason=~"([^"]+)"`) {
		for reason := range strings.SplitSeq(list, "|") {
			if !slices.Contains(reasons, reason) {
				t.Errorf("there is no reason %s", reason)
			}
		}
	}
	promtest.CheckRunbooks(t, "../../docs/monitoring.md", alertRules...)
}

// TestNodeExporterServesMetrics runs node_exporter with the arguments of the DaemonSet on the
// file that the service writes.
func TestNodeExporterServesMetrics(t *testing.T) {
	exporter := promtest.RequireProgram(t, "prometheus-node-exporter", "prometheus-node-exporter")
	var daemonSet appsv1.DaemonSet
	readYAML(t, monitoringManifests+"daemonset.yaml", &daemonSet)
	pod := daemonSet.Spec.Template.Spec
	if mount := pod.Containers[0].VolumeMounts[0]; !mount.ReadOnly ||
		pod.Volumes[0].HostPath.Path != "/run/hcp-node-agent/metrics" {
		t.Errorf("mounted: %+v %+v", mount, pod.Volumes[0].HostPath)
	}
	dir := t.TempDir()
	flowtest.NoError(t, os.WriteFile(filepath.Join(dir, "hcp-node-agent.prom"), []byte(exampleMetrics(t)), 0o600))
	want := parseSamples(t, exampleMetrics(t))

	var args []string
	for _, arg := range pod.Containers[0].Args {
		arg = strings.Replace(arg, "directory=/metrics", "directory="+dir, 1)
		args = append(args, strings.Replace(arg, "listen-address=:9100", "listen-address=127.0.0.1:0", 1))
	}
	got := parseSamples(t, scrape(t, exporter, args))
	for sample := range got {
		if name, _, _ := strings.Cut(sample, "{"); strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "node_cpu") {
			t.Errorf("another collector is enabled: %s", sample)
		}
		if !strings.HasPrefix(sample, "hcp_node_agent_") {
			delete(got, sample)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-written +served):\n%s", diff)
	}
}

// scrape runs node_exporter and returns its metrics.
func scrape(t *testing.T, exporter string, args []string) string {
	t.Helper()
	ctx, stop := context.WithCancel(waittest.Context(t))
	command := exec.CommandContext(ctx, exporter, args...)
	log, err := command.StderrPipe()
	flowtest.NoError(t, err)
	flowtest.NoError(t, command.Start())
	defer func() {
		stop()
		_ = command.Wait() // killed
	}()
	address := ""
	for lines := bufio.NewScanner(log); address == "" && lines.Scan(); {
		if match := regexp.MustCompile(`address=(127\.0\.0\.1:[1-9]\d*)`).FindStringSubmatch(lines.Text()); match != nil {
			address = match[1]
		}
	}
	response, err := http.Get("http://" + address + "/metrics")
	flowtest.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	flowtest.NoError(t, err)
	return string(body)
}

// parseSamples returns the values by name and sorted labels.
func parseSamples(t *testing.T, text string) map[string]float64 {
	t.Helper()
	samples := map[string]float64{}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		i := strings.LastIndex(line, " ")
		value, err := strconv.ParseFloat(strings.TrimSpace(line[i:]), 64)
		flowtest.NoError(t, err)
		name, labels, _ := strings.Cut(strings.TrimSuffix(line[:i], "}"), "{")
		list := strings.Split(labels, ",")
		slices.Sort(list)
		samples[name+"{"+strings.Join(list, ",")+"}"] = value
	}
	return samples
}

func readYAML(t *testing.T, path string, object any) {
	t.Helper()
	content, err := os.ReadFile(path)
	flowtest.NoError(t, err)
	if err := yaml.Unmarshal(content, object); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}
