// SPDX-License-Identifier: Apache-2.0

//go:build vm

package e2e

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
	"github.com/hcp-node-agent/hcp-node-agent/test/vm"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// skippedSteps are the steps of an earlier join that the test skips.
const skippedSteps = "preflight,validate,packages,files,system,network,runtime,client-certificate"

// A problem that prevents a node from becoming Ready is explained in one message. After it is
// fixed, the join resumes automatically.
func TestExplained(t *testing.T) {
	ctx := newContext(t)
	server := environment.ControlPlane.AdminClient
	must(t, server.SetNetwork(ctx, false))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), waittest.Timeout) // the context of the test has ended
		defer cancel()
		must(t, server.SetNetwork(ctx, true))
	})

	// The unit belongs to a package that is not installed.
	mustOutput(ctx, t, `install -d /etc/systemd/system/crio.service.d
		printf '[Unit]\nRequires=no-such.service\n' >/etc/systemd/system/crio.service.d/90-site.conf &&
			systemctl daemon-reload`)
	result := runAgent(ctx, t, report.Failed, joinCommand)
	checkContains(t, result.Stdout,
		"no-such.service, which crio.service requires, does not exist on this host (Unit no-such.service not found)",
		"dnf provides '*/no-such.service'")
	mustOutput(ctx, t, "rm /etc/systemd/system/crio.service.d/90-site.conf && systemctl daemon-reload")

	// The network is deployed late, one of its pods has an image that does not exist, and the
	// Node has an additional taint.
	repository, _, _ := strings.Cut(environment.ControlPlane.WorkloadImage, "@")
	image := repository + ":none"
	registry, _, _ := strings.Cut(image, "/")
	output := runWithActions(ctx, t, "hcp-node-agent "+joinCommand,
		outputAction{"; no pod of a network plugin is assigned to this node, only kube-system/kube-apiserver-proxy-" +
			testenv.NodeName, func() {
			setTaints(ctx, t, `[{"key":"team","value":"blue","effect":"NoSchedule"}]`)
			createUnpullablePod(ctx, t, image)
		}},
		outputAction{"pod openshift-ovn-kubernetes/unpullable is not ready: image " + image + " cannot be pulled: " +
			registry + " does not have it", func() {
			must(t, server.SetNetwork(ctx, true))
		}},
		outputAction{
			"waiting for Node " + testenv.NodeName + " to become schedulable: taint team=blue:NoSchedule",
			func() { setTaints(ctx, t, "null") },
		},
	)
	checkContains(t, output,
		"the network plugin has not written its configuration yet (/etc/kubernetes/cni/net.d/ is empty)",
		"crictl pull "+image,
		"oc adm taint node "+testenv.NodeName+" team-", testenv.NodeName+" is Ready and schedulable")

	// A taint that is not removed causes a failure that names it.
	setTaints(ctx, t, `[{"key":"node.cloudprovider.kubernetes.io/uninitialized","value":"true","effect":"NoSchedule"}]`)
	result = runAgent(ctx, t, report.Failed, "join --timeout 2m --skip "+skippedSteps+
		",kubelet,serving-certificate,ready")
	checkContains(t, result.Stdout, "Node "+testenv.NodeName+
		" is not schedulable: taint node.cloudprovider.kubernetes.io/uninitialized=true:NoSchedule",
		"platform None has no cloud controller manager",
		"oc adm taint node "+testenv.NodeName+" node.cloudprovider.kubernetes.io/uninitialized-")
	setTaints(ctx, t, "null")

	// kubelet's version differs from that of its unit; systemd and the journal report the cause.
	mustOutput(ctx, t, `install -d /etc/systemd/system/kubelet.service.d
		printf '[Service]\nExecStart=\nExecStart=/usr/bin/kubelet --no-such-flag\n' \
			>/etc/systemd/system/kubelet.service.d/90-site.conf`)
	result = runAgent(ctx, t, report.Failed, "join --skip "+skippedSteps)
	checkContains(t, result.Stdout,
		"kubelet.service is not running (it exits soon after each start): it does not support the flag --no-such-flag of "+
			"its unit: the installed kubelet does not match the payload's release",
		"install the kubelet of the payload's release", "kubelet --version")
	mustOutput(ctx, t, "rm /etc/systemd/system/kubelet.service.d/90-site.conf")
	runAgent(ctx, t, report.Success, "join --skip "+skippedSteps)
}

// setTaints sets the Node's taints, as an administrator does. The node lifecycle controller adds its
// own taints again.
func setTaints(ctx context.Context, t *testing.T, taints string) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"taints":%s}}`, taints)
	_, err := environment.Client.CoreV1().Nodes().Patch(ctx, testenv.NodeName, types.MergePatchType, patch,
		metav1.PatchOptions{})
	must(t, err)
}

// createUnpullablePod creates a pod on the node that resembles one of the network plugin and can never
// start.
func createUnpullablePod(ctx context.Context, t *testing.T, image string) {
	t.Helper()
	noToken, now := false, int64(0)
	pods := environment.Client.CoreV1().Pods("openshift-ovn-kubernetes")
	_, err := pods.Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "unpullable"},
		Spec: corev1.PodSpec{
			NodeName: testenv.NodeName, HostNetwork: true, AutomountServiceAccountToken: &noToken,
			Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			Containers:  []corev1.Container{{Name: "main", Image: image}},
		},
	}, metav1.CreateOptions{})
	must(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), waittest.Timeout) // the context of the test has ended
		defer cancel()
		must(t, pods.Delete(ctx, "unpullable", metav1.DeleteOptions{GracePeriodSeconds: &now}))
	})
}

// outputAction is a text in a command's output and the action to run when it is printed.
type outputAction struct {
	text string
	then func()
}

// runWithActions runs a command in the machine, which must succeed, and runs the actions in order.
func runWithActions(ctx context.Context, t *testing.T, command string, turns ...outputAction) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, waittest.Timeout)
	defer cancel()
	watchers := make([]*vm.Watcher, len(turns))
	writers := make([]io.Writer, len(turns))
	for n, turn := range turns {
		watchers[n] = vm.NewWatcher(turn.text)
		writers[n] = watchers[n]
	}
	type ending struct {
		code int
		err  error
	}
	ended := make(chan ending, 1)
	all := io.MultiWriter(writers...)
	go func() {
		code, err := environment.Machine.RunStream(ctx, command, nil, all, all)
		ended <- ending{code, err}
	}()
	for n, turn := range turns {
		select {
		case <-watchers[n].Seen:
			turn.then()
		case end := <-ended:
			t.Fatalf("%s ended (%d, %v) before it printed %q:\n%s", command, end.code, end.err, turn.text, watchers[0])
		}
	}
	end := <-ended
	if t.Logf("%s\n%s", command, watchers[0]); end.code != 0 || end.err != nil {
		t.Fatalf("%s ended with %d, %v", command, end.code, end.err)
	}
	return watchers[0].String()
}
