// SPDX-License-Identifier: Apache-2.0

//go:build vm

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/nodeimage"
	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
	"github.com/hcp-node-agent/hcp-node-agent/test/vm/kubelets"
	"github.com/hcp-node-agent/hcp-node-agent/test/vm/ovn"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// newerReleases are the releases to which TestKubeletVersions upgrades, with the modules of their kubelets.
var newerReleases = []struct {
	kubelet  string
	packages map[string]string
}{
	{"v1.35", map[string]string{
		"openshift-kubelet": "4.22.3-202603111212.p0.el9", "cri-o": "1.35.0-1.rhaos4.22.el9",
	}},
	{"v1.36", map[string]string{
		"openshift-kubelet": "5.0.2-202607111212.p0.el9", "cri-o": "1.36.0-1.rhaos5.0.el9",
	}},
	{"v1.37", map[string]string{
		"openshift-kubelet": "5.1.1-202610111212.p0.el9", "cri-o": "1.37.0-1.rhaos5.1.el9",
	}},
}

// TestKubeletVersions joins with kubelet 1.34, and upgrades the node to the kubelets of the next three minor releases,
// each of which takes minutes to build. It rolls back the last upgrade: the former kubelet must start with the state
// that the newer one has stored. The payload of the first release has a flag that kubelet 1.35 does not support, as
// those of OpenShift up to 4.21 have. CRI-O is the same program, but reports the version of its package. The control
// plane must have the newest version: CONTROL_PLANE=newest.
func TestKubeletVersions(t *testing.T) {
	ctx := newContextFor(t, 4*time.Hour)
	source := nodeimage.MoveFiles(ctx, t, environment.Machine)
	crio, err := os.ReadFile(filepath.Join(source, crioPath))
	must(t, err)
	first := newRelease(ctx, t, source, nodeimage.FirstRelease)
	must(t, environment.Serve(ctx, first.payload))
	before := hostState(ctx, t)
	runAgent(ctx, t, report.Success, joinCommand)
	must(t, environment.CreateWorkload(ctx, 1))
	checkKubelet(ctx, t, first)
	network := networkPod(ctx, t)
	flag := mustOutput(ctx, t, "grep -o -- '--pod-infra-container-image=[^ ]*' /etc/systemd/system/kubelet.service")

	var previous, current release
	for i, newer := range newerReleases {
		kubelet, err := kubelets.Build(ctx, "../../..", newer.kubelet)
		must(t, err)
		replaceKubelet(t, source, kubelet)
		must(t, os.WriteFile(filepath.Join(source, crioPath), crio, 0o755)) //nolint:gosec // a program
		setCRIOVersion(t, filepath.Join(source, crioPath), newer.packages["cri-o"])
		next := newRelease(ctx, t, source, newer.packages)
		previous, current = current, next
		t.Logf("== upgrade to kubelet %s", next.kubelet)
		if i == 0 {
			serve(ctx, t, next.payload)
			refused := runAgent(ctx, t, report.Refused, upgradeCommand)
			checkContains(t, refused.Stdout+refused.Stderr,
				"kubelet 1.35 does not support flags of its unit: --pod-infra-container-image")
			checkKubelet(ctx, t, first)
		}
		// As in the units of 4.22 and newer.
		const makeDirectory = "ExecStartPre=/bin/mkdir --parents "
		next.payload.EditUnit("kubelet.service", makeDirectory, makeDirectory+"/etc/openshift/kubelet.conf.d\n"+makeDirectory)
		next.payload.EditUnit("kubelet.service", flag, "--config-dir=/etc/openshift/kubelet.conf.d")
		serve(ctx, t, next.payload)
		runAgent(ctx, t, report.Success, upgradeCommand)
		checkKubelet(ctx, t, next)
		if now := networkPod(ctx, t); now.UID != network.UID {
			t.Errorf("the upgrade has replaced the pod %s of a DaemonSet by %s", network.Name, now.Name)
		}
	}

	t.Logf("== roll back from kubelet %s to %s", current.kubelet, previous.kubelet)
	runAgent(ctx, t, report.Success, "upgrade --rollback")
	checkKubelet(ctx, t, previous)

	must(t, environment.Client.AppsV1().Deployments(metav1.NamespaceDefault).Delete(ctx, testenv.Workload,
		metav1.DeleteOptions{}))
	must(t, environment.DeletePods(ctx))
	runAgent(ctx, t, report.Success, "leave")
	mustOutput(ctx, t, "! ls -d /usr/libexec/hcp-node-agent /usr/bin/kubelet /usr/bin/crio 2>/dev/null")
	checkHostState(ctx, t, before)
}

// checkKubelet waits until the node and the workload are Ready, and checks that the node runs the kubelet of a release,
// that this kubelet returns logs to the API server, and that the node has no drift.
func checkKubelet(ctx context.Context, t *testing.T, want release) {
	t.Helper()
	awaitReadyNode(ctx, t)
	node, err := environment.Client.CoreV1().Nodes().Get(ctx, testenv.NodeName, metav1.GetOptions{})
	must(t, err)
	if got := node.Status.NodeInfo.KubeletVersion; got != want.kubelet {
		t.Errorf("the node has kubelet %s, want %s", got, want.kubelet)
	}
	pod := awaitPod(ctx, t, metav1.NamespaceDefault, "app="+testenv.Workload)
	_, err = environment.Client.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{}).DoRaw(ctx)
	must(t, err)
	runAgent(ctx, t, report.Success, "status")
}

// networkPod returns the pod of the stand-in of the network operator, which is of a DaemonSet.
func networkPod(ctx context.Context, t *testing.T) corev1.Pod {
	t.Helper()
	return awaitPod(ctx, t, ovn.Namespace, "")
}

// awaitPod waits until the only pod of a namespace with labels is Ready, and returns it.
func awaitPod(ctx context.Context, t *testing.T, namespace, labels string) corev1.Pod {
	t.Helper()
	var pod corev1.Pod
	waittest.Until(t, "waiting for the pod of "+namespace+" to be Ready", func() (any, bool) {
		list, err := environment.Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: labels})
		if err != nil || len(list.Items) != 1 {
			return err, false
		}
		pod = list.Items[0]
		return pod.Status.String(), isReady(pod)
	})
	return pod
}
