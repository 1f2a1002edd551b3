// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/hcp-node-agent/hcp-node-agent/test/rights"
)

// decodeManifest decodes the only document of a file in deploy, without unknown fields.
func decodeManifest[T any](t *testing.T, name string) (object T) {
	t.Helper()
	documents, err := rights.Documents(name)
	if err != nil || len(documents) != 1 {
		t.Fatalf("%s: %d documents, %v", name, len(documents), err)
	}
	if err := yaml.UnmarshalStrict([]byte(documents[0]), &object); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return object
}

func TestApproverDeployment(t *testing.T) {
	deployment := decodeManifest[appsv1.Deployment](t, "approver.yaml")
	pod := deployment.Spec.Template.Spec
	container := pod.Containers[0]
	flags := parseApproveFlags(t, container.Args)
	var mounts []string
	for _, mount := range container.VolumeMounts {
		if !mount.ReadOnly {
			t.Errorf("%s can be written to", mount.MountPath)
		}
		mounts = append(mounts, mount.MountPath)
	}
	enrollments, _ := flags.GetString("enrollments")
	path, _ := flags.GetString("kubeconfig")
	if !slices.Equal(mounts, []string{enrollments, strings.TrimSuffix(path, "/kubeconfig")}) || len(pod.Volumes) != 2 {
		t.Errorf("mounted are %q, used %s and %s", mounts, enrollments, path)
	}
	security := container.SecurityContext
	if !*pod.SecurityContext.RunAsNonRoot || *pod.AutomountServiceAccountToken || !*security.ReadOnlyRootFilesystem ||
		*security.AllowPrivilegeEscalation ||
		security.Capabilities.Drop[0] != "ALL" {
		t.Error("the pod has more rights than it needs")
	}
	address, _ := flags.GetString("health-probe-bind-address")
	port := container.Ports[0]
	if address != ":"+strconv.Itoa(int(port.ContainerPort)) {
		t.Errorf("the probes are served at %s, the port is %d", address, port.ContainerPort)
	}
	for want, probe := range map[string]*corev1.Probe{
		"/readyz": container.ReadinessProbe,
		"/livez":  container.LivenessProbe,
	} {
		if probe.HTTPGet.Path != want || probe.HTTPGet.Port.StrVal != port.Name {
			t.Errorf("the probe of %s gets %s at %s", want, probe.HTTPGet.Path, probe.HTTPGet.Port.StrVal)
		}
	}
}

// A tag of the repository is a release of its manifests too.
func TestApproverImageHasTheVersion(t *testing.T) {
	release, err := os.ReadFile("../../VERSION")
	if err != nil {
		t.Fatal(err)
	}
	image := decodeManifest[appsv1.Deployment](t, "approver.yaml").Spec.Template.Spec.Containers[0].Image
	if _, tag, _ := strings.Cut(image, ":"); tag != strings.TrimSpace(string(release)) {
		t.Errorf("deploy/approver.yaml has the image %s, VERSION is %s", image, release)
	}
}

// The Deployment, the NetworkPolicy and the PodDisruptionBudget must select the same pods, and the
// kustomization must contain every manifest. TestControlPlaneDeployment applies the kustomization.
func TestApproverKustomization(t *testing.T) {
	deployment := decodeManifest[appsv1.Deployment](t, "approver.yaml")
	labels := deployment.Spec.Template.Labels
	budget := decodeManifest[policyv1.PodDisruptionBudget](t, "poddisruptionbudget.yaml")
	policy := decodeManifest[networkingv1.NetworkPolicy](t, "networkpolicy.yaml")
	affinity := deployment.Spec.Template.Spec.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution[0]
	for name, selector := range map[string]*metav1.LabelSelector{
		"Deployment": deployment.Spec.Selector, "PodDisruptionBudget": budget.Spec.Selector,
		"NetworkPolicy": &policy.Spec.PodSelector, "anti-affinity": affinity.PodAffinityTerm.LabelSelector,
	} {
		if diff := gocmp.Diff(labels, selector.MatchLabels); diff != "" {
			t.Errorf("the %s selects other pods (-pods +selected):\n%s", name, diff)
		}
	}
	kustomization := decodeManifest[struct {
		metav1.TypeMeta `json:",inline"`
		Namespace       string   `json:"namespace"`
		Resources       []string `json:"resources"`
	}](t, "kustomization.yaml")
	if namespace := decodeManifest[corev1.Namespace](t, "namespace.yaml"); namespace.Name != kustomization.Namespace {
		t.Errorf("the kustomization is for the namespace %s, its Namespace is %s", kustomization.Namespace, namespace.Name)
	}
	files, err := filepath.Glob("../../deploy/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		// The others are for the hosted cluster.
		isOther := slices.Contains([]string{
			"kustomization.yaml", "approver-rbac.yaml",
		}, name)
		if slices.Contains(kustomization.Resources, name) == isOther {
			t.Errorf("deploy/%s: a resource of the kustomization: %t", name, !isOther)
		}
	}
}
