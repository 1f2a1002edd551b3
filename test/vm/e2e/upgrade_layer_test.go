// SPDX-License-Identifier: Apache-2.0

//go:build vm

package e2e

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"text/template"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/nodeimage"
	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

//go:embed testdata/web.yaml
var webManifests string

const (
	webNodePort = "30081"
	webReplicas = 2 // in testdata/web.yaml
	kubeletPath = "/usr/bin/kubelet"
	crioPath    = "/usr/bin/crio"
)

// release is software of the node.
type release struct {
	payload  testenv.Payload
	packages map[string]string // versions
	kubelet  string            // version
}

// moveSoftware removes kubelet and CRI-O from the machine, and makes two releases of them, whose payloads refer to OS
// images. With THOROUGH=1 the first one is of the previous minor release of Kubernetes, of which kubelet takes minutes
// to build. Its CRI-O is the same program, because Go's module proxy has no other version, but reports the version of
// its package. Otherwise the two differ only in the versions of their packages.
func moveSoftware(ctx context.Context, t *testing.T) (first, next release) {
	t.Helper()
	source := nodeimage.MoveFiles(ctx, t, environment.Machine)
	next = newRelease(ctx, t, source, nodeimage.NextRelease)
	packages := nodeimage.FirstRelease
	if os.Getenv("THOROUGH") != "" {
		packages = nodeimage.PreviousRelease
		previous, err := exec.CommandContext(ctx, "../../image/previous.sh").Output()
		must(t, err)
		replaceKubelet(t, source, strings.TrimSpace(string(previous)))
		setCRIOVersion(t, filepath.Join(source, crioPath), packages["cri-o"])
	}
	first = newRelease(ctx, t, source, packages)
	t.Logf("releases with kubelet %s and %s", first.kubelet, next.kubelet)
	return first, next
}

// replaceKubelet replaces the kubelet in source.
func replaceKubelet(t *testing.T, source, by string) {
	t.Helper()
	content, err := os.ReadFile(by)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(source, kubeletPath), content, 0o755)) //nolint:gosec // a program
}

// setCRIOVersion replaces the version in the program of CRI-O by that of a package, which has the same length.
func setCRIOVersion(t *testing.T, program, of string) {
	t.Helper()
	built, _, _ := strings.Cut(nodeimage.FirstRelease["cri-o"], "-")
	version, _, _ := strings.Cut(of, "-")
	content, err := os.ReadFile(program)
	must(t, err)
	if n := bytes.Count(content, []byte(built)); n != 1 || len(version) != len(built) {
		t.Fatalf("%s contains the version %s %d times, and it is to be %s", program, built, n, version)
	}
	content = bytes.Replace(content, []byte(built), []byte(version), 1)
	must(t, os.WriteFile(program, content, 0o755)) //nolint:gosec // a program
}

// newRelease returns a release with the kubelet and CRI-O in source.
func newRelease(ctx context.Context, t *testing.T, source string, packages map[string]string) release {
	t.Helper()
	payload, err := environment.Payload()
	must(t, err)
	must(t, payload.SetOSImage(nodeimage.Push(t, environment.ControlPlane, source, packages)))
	version, err := exec.CommandContext(ctx, filepath.Join(source, kubeletPath), "--version").Output()
	must(t, err)
	return release{
		payload:  payload,
		packages: packages,
		kubelet:  strings.TrimSpace(strings.TrimPrefix(string(version), "Kubernetes ")),
	}
}

// upgradeLayer upgrades the node while a client outside the cluster sends requests to a Deployment. Staging does not
// interrupt it. There is no other node, so that requests fail while this one has no pods. With THOROUGH=1 a
// PodDisruptionBudget prevents a first drain, the upgrade is rolled back, and upgraded again while the agent is killed
// in each step.
func upgradeLayer(ctx context.Context, t *testing.T, first, next release) {
	t.Helper()
	thorough := os.Getenv("THOROUGH") != ""
	deployWeb(ctx, t)
	awaitWeb(ctx, t)
	client := newRequestClient(ctx, t)

	must(t, environment.Serve(ctx, next.payload))
	runAgent(ctx, t, report.Success, upgradeCommand+" --stage")
	if staged := client.take(t, "staging"); staged.isInterrupted() {
		t.Errorf("%d requests failed while the upgrade was staged", staged.failed)
	}
	if thorough {
		refuseDrain(ctx, t)
		client.take(t, "a drain that the PodDisruptionBudget prevents")
	}
	_, err := networkPlugin.Kubectl(ctx, "", "patch", "poddisruptionbudget", "web", "--type=merge", "-p",
		`{"spec":{"minAvailable":0}}`)
	must(t, err)
	runAgent(ctx, t, report.Success, upgradeCommand)
	checkRelease(ctx, t, next)
	client.take(t, "the upgrade")
	if !thorough {
		return
	}
	runAgent(ctx, t, report.Success, "upgrade --rollback")
	checkRelease(ctx, t, first)
	client.take(t, "the rollback")
	must(t, environment.KillUpgrade(ctx, "hcp-node-agent "+upgradeCommand, t.Logf))
	runAgent(ctx, t, report.Success, "upgrade")
	checkRelease(ctx, t, next)
	client.take(t, "an upgrade that is killed in each step")
}

// deployWeb deploys the Deployment that the client requests.
func deployWeb(ctx context.Context, t *testing.T) {
	t.Helper()
	var rendered strings.Builder
	values := map[string]string{"Image": environment.ControlPlane.WorkloadImage, "NodePort": webNodePort}
	must(t, template.Must(template.New("web.yaml").Parse(webManifests)).Execute(&rendered, values))
	_, err := networkPlugin.Kubectl(ctx, rendered.String(), "apply", "-f", "-")
	must(t, err)
}

// webURL returns the URL of the Deployment outside the cluster.
func webURL(ctx context.Context, t *testing.T) string {
	t.Helper()
	return "http://" + nodeAddress(ctx, t) + ":" + webNodePort
}

// awaitWeb waits until each pod of the Deployment has answered a request from outside. OVN programs a new endpoint
// after its pod is Ready, and connections of that moment can be reset.
func awaitWeb(ctx context.Context, t *testing.T) {
	t.Helper()
	_, err := networkPlugin.Kubectl(ctx, "", "rollout", "status", "deployment/web", "--timeout="+waittest.Timeout.String())
	must(t, err)
	url := webURL(ctx, t)
	answered := map[string]bool{}
	waittest.Until(t, fmt.Sprintf("waiting for an answer of %d pods from %s", webReplicas, url), func() (any, bool) {
		answer, err := getOutside(url)
		if err == nil {
			answered[answer] = true // it has the name of the pod
		}
		return fmt.Sprint(answered, err), len(answered) == webReplicas
	})
}

// refuseDrain upgrades while the PodDisruptionBudget prevents that the last pod is evicted. The drain is undone.
func refuseDrain(ctx context.Context, t *testing.T) {
	t.Helper()
	result, err := environment.Machine.Run(ctx, "hcp-node-agent "+upgradeCommand+" --drain-timeout 1m")
	must(t, err)
	t.Logf("hcp-node-agent %s --drain-timeout 1m\n%s%s", upgradeCommand, result.Stdout, result.Stderr)
	if result.ExitCode == int(report.Success) {
		t.Error("the node was drained against the PodDisruptionBudget")
	}
	node, err := environment.Client.CoreV1().Nodes().Get(ctx, testenv.NodeName, metav1.GetOptions{})
	must(t, err)
	if node.Spec.Unschedulable {
		t.Error("the node is still cordoned after a drain that was given up")
	}
	awaitWeb(ctx, t)
}

// checkRelease checks that the node runs a release, has no drift, and serves the Deployment again.
func checkRelease(ctx context.Context, t *testing.T, want release) {
	t.Helper()
	awaitPods(ctx, t)
	awaitWeb(ctx, t)
	node, err := environment.Client.CoreV1().Nodes().Get(ctx, testenv.NodeName, metav1.GetOptions{})
	must(t, err)
	if got := node.Status.NodeInfo.KubeletVersion; got != want.kubelet {
		t.Errorf("the node has kubelet %s, want %s", got, want.kubelet)
	}
	files := mustOutput(ctx, t, "cat $(dirname $(readlink -f "+kubeletPath+"))/../../.files.json")
	if version := want.packages["openshift-kubelet"]; !strings.Contains(files, version) {
		t.Errorf("kubelet is not of the package openshift-kubelet-%s", version)
	}
	runAgent(ctx, t, report.Success, "status")
}
