// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package metrics

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/hcp-node-agent/hcp-node-agent/test/bed"
)

// The real kubectl renders the dashboard as a ConfigMap that OpenShift's console finds.
func TestControlPlaneDashboardConfigMap(t *testing.T) {
	bin, err := bed.Build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	output, err := exec.CommandContext(t.Context(), filepath.Join(bin, "kubectl"), "kustomize",
		monitoringManifests).Output()
	if err != nil {
		t.Fatal(err)
	}
	var found corev1.ConfigMap
	for document := range strings.SplitSeq(string(output), "\n---\n") {
		var object corev1.ConfigMap
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			t.Fatal(err)
		}
		if object.Kind == "ConfigMap" {
			found = object
		}
	}
	var board dashboard
	if err := json.Unmarshal([]byte(found.Data["dashboard.json"]), &board); err != nil || len(found.Data) != 1 {
		t.Errorf("the ConfigMap has %d files: %v", len(found.Data), err)
	}
	if found.Namespace != "openshift-config-managed" || found.Labels["console.openshift.io/dashboard"] != "true" ||
		found.Name != "grafana-dashboard-hcp-node-agent" || len(board.Rows) == 0 {
		t.Errorf("the ConfigMap is %+v", found.ObjectMeta)
	}
}
