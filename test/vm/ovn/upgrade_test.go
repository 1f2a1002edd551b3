// SPDX-License-Identifier: Apache-2.0

//go:build vm

package ovn

import (
	"context"
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"text/template"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/hcp-node-agent/hcp-node-agent/internal/bootstrap"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/stepname"
	"github.com/hcp-node-agent/hcp-node-agent/test/nodeimage"
	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
)

//go:embed web.yaml
var webManifests string

const webNodePort = "30081"

// node is the software of the node before and after its upgrade.
type node struct {
	before, after  testenv.Payload
	kubelet, newer string // versions
}

// prepareNode removes kubelet and CRI-O from the machine, and makes two payloads whose OS images have them. With
// THOROUGH=1 the kubelet of the first one is of the previous minor release of Kubernetes, which takes minutes to
// build. Otherwise only the versions of the packages differ.
func prepareNode(ctx context.Context, t *testing.T) *node {
	t.Helper()
	n := &node{kubelet: testCluster.ControlPlane.KubernetesVersion, newer: testCluster.ControlPlane.KubernetesVersion}
	source := nodeimage.MoveFiles(ctx, t, testCluster.Machine)
	n.after = payloadWith(t, source, nodeimage.NextRelease)
	if os.Getenv("THOROUGH") != "" {
		previous, err := exec.CommandContext(ctx, "../../image/previous.sh").Output()
		must(t, err)
		content, err := os.ReadFile(strings.TrimSpace(string(previous)))
		must(t, err)
		kubelet := filepath.Join(source, "usr/bin/kubelet")
		must(t, os.WriteFile(kubelet, content, 0o755)) //nolint:gosec // a program
		version, err := exec.CommandContext(ctx, kubelet, "--version").Output()
		must(t, err)
		n.kubelet = strings.TrimSpace(strings.TrimPrefix(string(version), "Kubernetes "))
	}
	n.before = payloadWith(t, source, nodeimage.FirstRelease)
	t.Logf("from kubelet %s to %s", n.kubelet, n.newer)
	return n
}

// payloadWith returns the served payload with an OS image of the files in source.
func payloadWith(t *testing.T, source string, versions map[string]string) testenv.Payload {
	t.Helper()
	payload, err := testCluster.Payload()
	must(t, err)
	must(t, payload.SetOSImage(nodeimage.Push(t, testCluster.ControlPlane, source, versions)))
	return payload
}

// upgradeNode upgrades the node while a client outside the cluster sends requests to a Deployment behind a
// PodDisruptionBudget. None may fail while the upgrade is staged. There is no other node, so that requests fail
// while this one has no pods. With THOROUGH=1, the budget prevents a first drain, the agent is killed in each
// step of the upgrade, and the upgrade is rolled back.
func upgradeNode(ctx context.Context, t *testing.T, n *node) {
	t.Helper()
	thorough := os.Getenv("THOROUGH") != ""
	const command = "upgrade --user-data " + testenv.UserDataPath
	deployWeb(ctx, t)
	awaitWeb(ctx, t)
	client := newRequestClient(ctx, t, webNodePort)

	must(t, testCluster.Serve(ctx, n.after))
	runAgent(ctx, t, 30*time.Minute, command+" --stage")
	if staged := client.take(t, "staging"); staged.failed > 0 {
		t.Errorf("%d requests failed while the upgrade was staged", staged.failed)
	}
	if thorough {
		refuseDrain(ctx, t, command)
		client.take(t, "a drain that the PodDisruptionBudget prevents")
	}
	_, err := testCluster.kube(ctx, "", "patch", "poddisruptionbudget", "web", "--type=merge", "-p", `{"spec":{"minAvailable":0}}`)
	must(t, err)
	if thorough {
		killUpgrade(ctx, t, command)
	}
	runAgent(ctx, t, 20*time.Minute, command)
	checkUpgraded(ctx, t, n.newer, nodeimage.NextRelease)
	client.take(t, "the upgrade")
	if !thorough {
		return
	}
	runAgent(ctx, t, 20*time.Minute, "upgrade --rollback")
	checkUpgraded(ctx, t, n.kubelet, nodeimage.FirstRelease)
	client.take(t, "the rollback")
}

// deployWeb deploys the Deployment that the client requests.
func deployWeb(ctx context.Context, t *testing.T) {
	t.Helper()
	var rendered strings.Builder
	values := map[string]string{"Image": testCluster.ControlPlane.WorkloadImage, "NodePort": webNodePort}
	must(t, template.Must(template.New("web.yaml").Parse(webManifests)).Execute(&rendered, values))
	_, err := testCluster.kube(ctx, rendered.String(), "apply", "-f", "-")
	must(t, err)
}

// awaitWeb waits until the Deployment is available and answers requests from outside.
func awaitWeb(ctx context.Context, t *testing.T) {
	t.Helper()
	_, err := testCluster.kube(ctx, "", "rollout", "status", "deployment/web", "--timeout=10m")
	must(t, err)
	url := nodeURL(ctx, t, webNodePort)
	err = wait.PollUntilContextTimeout(ctx, time.Second, 10*time.Minute, true, func(context.Context) (bool, error) {
		_, err := getOutside(url)
		return err == nil, nil
	})
	if err != nil {
		t.Fatalf("waiting for an answer from %s: %v", url, err)
	}
}

// refuseDrain upgrades while the PodDisruptionBudget prevents that the last pod is evicted. The drain is undone.
func refuseDrain(ctx context.Context, t *testing.T, command string) {
	t.Helper()
	result, err := testCluster.Machine.Run(ctx, "hcp-node-agent "+command+" --drain-timeout 1m")
	must(t, err)
	t.Logf("hcp-node-agent %s --drain-timeout 1m\n%s%s", command, result.Stdout, result.Stderr)
	if result.ExitCode == int(report.Success) {
		t.Error("the node was drained against the PodDisruptionBudget")
	}
	object, err := testCluster.Client.CoreV1().Nodes().Get(ctx, testenv.NodeName, metav1.GetOptions{})
	must(t, err)
	if object.Spec.Unschedulable {
		t.Error("the node is still cordoned after a drain that was given up")
	}
	awaitWeb(ctx, t)
}

// killUpgrade kills the staged upgrade in or after each of its steps up to the step kubelet. The later ones are over
// at once.
func killUpgrade(ctx context.Context, t *testing.T, command string) {
	t.Helper()
	for _, step := range bootstrap.UpgradeSteps() {
		out, err := testCluster.RunUntilOutput(ctx, "hcp-node-agent "+command, testenv.StepLine(step.Name), func() {
			output(ctx, t, "pkill -KILL -f '^hcp-node-agent upgrade'")
		})
		must(t, err)
		t.Logf("killed at %s:\n%s", step.Name, out)
		if step.Name == stepname.Kubelet {
			return
		}
	}
}

// checkUpgraded checks that the node runs kubelet and the packages of a release, has no drift, and serves the
// Deployment again.
func checkUpgraded(ctx context.Context, t *testing.T, kubelet string, versions map[string]string) {
	t.Helper()
	awaitPods(ctx, t)
	awaitWeb(ctx, t)
	object, err := testCluster.Client.CoreV1().Nodes().Get(ctx, testenv.NodeName, metav1.GetOptions{})
	must(t, err)
	if got := object.Status.NodeInfo.KubeletVersion; got != kubelet {
		t.Errorf("the node has kubelet %s, want %s", got, kubelet)
	}
	if files := output(ctx, t, "cat $(dirname $(readlink -f /usr/bin/kubelet))/../../.files.json"); !strings.Contains(files, versions["openshift-kubelet"]) {
		t.Errorf("kubelet is not of the package openshift-kubelet-%s", versions["openshift-kubelet"])
	}
	runAgent(ctx, t, 2*time.Minute, "status")
}
