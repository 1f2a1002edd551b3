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
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/controller"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/test/rights"
)

// kustomization has the fields that the kustomizations of the controller have.
type kustomization struct {
	metav1.TypeMeta `json:",inline"`

	Resources []string `json:"resources"`
	Patches   []struct {
		Path   string            `json:"path"`
		Target map[string]string `json:"target"`
	} `json:"patches"`
}

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

// controllerDirectories are the directories of deploy with manifests of the controller.
var controllerDirectories = []string{
	"hosted", "hosted-base", "hosted-lost", "hosted-publish", "hosted-remediation", "hosted-renewals", "hosted-token",
	"management", "management-publish",
}

// Both Deployments of the controller have arguments that the program accepts, what the arguments name, and no more
// rights than they need.
func TestControllerDeployments(t *testing.T) {
	for _, dir := range []string{"hosted", "management"} {
		t.Run(dir, func(t *testing.T) {
			deployment := decodeManifest[appsv1.Deployment](t, dir+"/deployment.yaml")
			checkControllerPod(t, deployment.Spec.Template.Spec)
			checkControllerArguments(t, dir, deployment.Spec.Template.Spec)
			if *deployment.Spec.Replicas != 2 || deployment.Namespace != v1alpha1.Namespace {
				t.Errorf("%d replicas in namespace %s", *deployment.Spec.Replicas, deployment.Namespace)
			}
		})
	}
}

func checkControllerPod(t *testing.T, pod corev1.PodSpec) {
	t.Helper()
	container := pod.Containers[0]
	security := container.SecurityContext
	if !*pod.SecurityContext.RunAsNonRoot || !*security.ReadOnlyRootFilesystem || *security.AllowPrivilegeEscalation ||
		pod.SecurityContext.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault ||
		!slices.Equal(security.Capabilities.Drop, []corev1.Capability{"ALL"}) {
		t.Error("the pod has more rights than it needs")
	}
	for want, probe := range map[string]*corev1.Probe{
		"/readyz": container.ReadinessProbe, "/livez": container.LivenessProbe,
	} {
		if probe.HTTPGet.Path != want || probe.HTTPGet.Port.StrVal != "probes" {
			t.Errorf("the probe of %s gets %s at %s", want, probe.HTTPGet.Path, probe.HTTPGet.Port.StrVal)
		}
	}
	limit := container.Resources.Limits.Memory().Value()
	text := strings.TrimSuffix(container.Env[0].Value, "MiB")
	soft, err := strconv.ParseInt(text, 10, 64)
	if err != nil || container.Env[0].Name != "GOMEMLIMIT" || soft<<20 >= limit || soft<<20 < limit/2 {
		t.Errorf("GOMEMLIMIT is %q, the limit is %d", container.Env[0].Value, limit)
	}
}

func checkControllerArguments(t *testing.T, dir string, pod corev1.PodSpec) {
	t.Helper()
	container := pod.Containers[0]
	c, err := admin().ParseLine(container.Args)
	if err != nil || c.CommandPath() != "hcp-node-admin controller run" {
		t.Fatalf("%q: %v", container.Args, err)
	}
	for port, flag := range map[string]string{"metrics": "metrics-bind-address", "probes": "health-probe-bind-address"} {
		address, _ := c.Flags().GetString(flag)
		if !slices.ContainsFunc(container.Ports, func(p corev1.ContainerPort) bool {
			return p.Name == port && ":"+strconv.Itoa(int(p.ContainerPort)) == address
		}) {
			t.Errorf("no port %s is that of --%s=%s", port, flag, address)
		}
	}
	path, _ := c.Flags().GetString("kubeconfig")
	if dir == "hosted" {
		// The API server of the cluster itself is the default, with the token of the service account.
		if path != "" || len(container.VolumeMounts)+len(pod.Volumes) > 0 || !*pod.AutomountServiceAccountToken ||
			pod.ServiceAccountName != rights.Controller {
			t.Errorf("kubeconfig %q, service account %q, mounts %v", path, pod.ServiceAccountName, container.VolumeMounts)
		}
		return
	}
	mount, volume := container.VolumeMounts[0], pod.Volumes[0]
	if len(container.VolumeMounts) != 1 || len(pod.Volumes) != 1 || !mount.ReadOnly || mount.Name != volume.Name ||
		path != mount.MountPath+"/kubeconfig" || volume.Secret.SecretName != rights.Controller {
		t.Errorf("mounted is %v at %v, used is %s", volume, mount, path)
	}
	if *pod.AutomountServiceAccountToken || pod.ServiceAccountName != "default" {
		t.Error("the pod has a token of the management cluster")
	}
}

// A tag of the repository is a release of its manifests too.
func TestControllerImagesHaveTheVersion(t *testing.T) {
	release, err := os.ReadFile("../../VERSION")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"hosted", "management"} {
		image := decodeManifest[appsv1.Deployment](t, dir+"/deployment.yaml").Spec.Template.Spec.Containers[0].Image
		if _, tag, _ := strings.Cut(image, ":"); tag != strings.TrimSpace(string(release)) {
			t.Errorf("deploy/%s/deployment.yaml has the image %s, VERSION is %s", dir, image, release)
		}
	}
}

// The Deployments, NetworkPolicies and the PodMonitor select the same pods, and the same port.
func TestControllerSelectors(t *testing.T) {
	for _, dir := range []string{"hosted", "management"} {
		deployment := decodeManifest[appsv1.Deployment](t, dir+"/deployment.yaml")
		policy := decodeManifest[networkingv1.NetworkPolicy](t, dir+"/networkpolicy.yaml")
		monitor := decodeManifest[podMonitor](t, "monitoring/controller/podmonitor.yaml").Spec
		for name, selector := range map[string]*metav1.LabelSelector{
			"Deployment": deployment.Spec.Selector, "NetworkPolicy": &policy.Spec.PodSelector, "PodMonitor": &monitor.Selector,
			"spread of nodes": deployment.Spec.Template.Spec.TopologySpreadConstraints[0].LabelSelector,
		} {
			if diff := gocmp.Diff(deployment.Spec.Template.Labels, selector.MatchLabels); diff != "" {
				t.Errorf("%s: the %s selects other pods (-pods +selected):\n%s", dir, name, diff)
			}
		}
		if port := policy.Spec.Ingress[0].Ports[0].Port.StrVal; len(policy.Spec.Ingress) != 1 || port != "metrics" ||
			monitor.Endpoints[0].Port != port {
			t.Errorf("%s: the NetworkPolicy permits port %q, the PodMonitor scrapes %q", dir, port, monitor.Endpoints[0].Port)
		}
	}
}

// podMonitor contains what a PodMonitor selects.
type podMonitor struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Selector  metav1.LabelSelector `json:"selector"`
		Endpoints []struct {
			Port              string `json:"port"`
			Interval          string `json:"interval"`
			Relabelings       any    `json:"relabelings"`
			MetricRelabelings any    `json:"metricRelabelings"`
		} `json:"podMetricsEndpoints"`
	} `json:"spec"`
}

// Every manifest is a resource or a patch of the kustomization of its directory.
func TestControllerKustomizations(t *testing.T) {
	for _, dir := range controllerDirectories {
		k := decodeManifest[kustomization](t, dir+"/kustomization.yaml")
		var used []string
		for _, name := range k.Resources {
			if !strings.HasPrefix(name, "../") {
				used = append(used, name)
			}
		}
		for _, patch := range k.Patches {
			used = append(used, patch.Path)
		}
		files, err := filepath.Glob("../../deploy/" + dir + "/*")
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, file := range files {
			if name := filepath.Base(file); name != "kustomization.yaml" {
				found = append(found, name)
			}
		}
		slices.Sort(used)
		if diff := gocmp.Diff(used, found); diff != "" {
			t.Errorf("deploy/%s (-kustomization +files):\n%s", dir, diff)
		}
	}
}

// The objects of the hosted cluster have the names that the program uses.
func TestControllerNames(t *testing.T) {
	namespace := decodeManifest[corev1.Namespace](t, "hosted-base/namespace.yaml")
	token := decodeManifest[corev1.Secret](t, "hosted-token/token.yaml")
	if namespace.Name != v1alpha1.Namespace || token.Namespace != v1alpha1.Namespace ||
		token.Annotations[corev1.ServiceAccountNameKey] != rights.Controller ||
		token.Type != corev1.SecretTypeServiceAccountToken {
		t.Errorf("namespace %s, token %v", namespace.Name, token.ObjectMeta)
	}
	documents, err := rights.Documents("hosted-base/rbac.yaml")
	if err != nil {
		t.Fatal(err)
	}
	leases := 0
	for _, document := range documents {
		var role rbacv1.Role
		if err := yaml.Unmarshal([]byte(document), &role); err != nil {
			t.Fatal(err)
		}
		for _, rule := range role.Rules {
			if slices.Contains(rule.Resources, "leases") && slices.Equal(rule.ResourceNames, []string{controller.LeaseName}) {
				leases++
			}
		}
		if strings.Contains(document, "\nsubjects:\n") && !strings.HasSuffix(strings.TrimSpace(document),
			"  name: "+rights.Controller+"\n  namespace: "+v1alpha1.Namespace) {
			t.Errorf("a binding has another subject:\n%s", document)
		}
	}
	if leases != 1 {
		t.Errorf("%d rules for the Lease %s", leases, controller.LeaseName)
	}
}

// The patch for a controller that publishes user data adds arguments for the HostedCluster of rbac.yaml, and a service
// account that its Roles are bound to.
func TestControllerPublishPatch(t *testing.T) {
	patch := decodeManifest[[]struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value"`
	}](t, "management-publish/deployment-patch.yaml")
	args := decodeManifest[appsv1.Deployment](t, "management/deployment.yaml").Spec.Template.Spec.Containers[0].Args
	values := map[string]any{}
	for _, operation := range patch {
		if operation.Path == "/spec/template/spec/containers/0/args/-" {
			args = append(args, operation.Value.(string))
			continue
		}
		values[operation.Path] = operation.Value
	}
	want := map[string]any{
		"/spec/template/spec/serviceAccountName":           rights.Controller,
		"/spec/template/spec/automountServiceAccountToken": true,
	}
	if diff := gocmp.Diff(want, values); diff != "" {
		t.Errorf("patch (-want +got):\n%s", diff)
	}
	added := args[len(args)-2:]
	if !slices.Equal(added, []string{"--hosted-cluster=hosted", "--nodepool-namespace=clusters"}) {
		t.Errorf("added arguments: %q", added)
	}
	if _, err := admin().ParseLine(args); err != nil {
		t.Errorf("%q: %v", args, err)
	}
	content, err := os.ReadFile("../../deploy/management-publish/rbac.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, namespace := range []string{"clusters", "clusters-hosted"} {
		if strings.Count(string(content), "\n  namespace: "+namespace+"\n") != 2 {
			t.Errorf("rbac.yaml has not one Role and one RoleBinding in namespace %s", namespace)
		}
	}
}
