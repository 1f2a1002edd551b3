// SPDX-License-Identifier: Apache-2.0

//go:build vm

package ovn

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

const joinCommand = "join --network-timeout " + testenv.NetworkTimeout + " --user-data " + testenv.UserDataPath +
	" --approve-with " + testenv.ApproverKubeconfigPath

// TestJoinAndLeaveWithOVNKubernetes tests the life cycle of a node: OVN-Kubernetes uses br-ex,
// pods have a network, an upgrade replaces the software, and leave removes all of it. THOROUGH=1 adds
// another minor release of Kubernetes, a reboot, a restart of NetworkManager, a second join, and leave
// while OVN-Kubernetes starts.
func TestJoinAndLeaveWithOVNKubernetes(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Hour)
	defer cancel()
	t.Cleanup(func() { keepJournal(t) })
	thorough := os.Getenv("THOROUGH") != ""
	before := networkState(ctx, t)
	first, next := moveSoftware(ctx, t)

	must(t, testCluster.Serve(ctx, first.payload))
	step(t, "join", func() { runAgent(ctx, t, 20*time.Minute, joinCommand) })
	step(t, "pods", func() { awaitPods(ctx, t) })
	step(t, "gateway", func() { checkGatewayIsBridge(ctx, t) })
	step(t, "traffic", func() { checkTraffic(ctx, t) })
	step(t, "upgrade", func() { upgradeNode(ctx, t, first, next) })
	step(t, "no drift", func() { checkNoDrift(ctx, t) })
	if thorough {
		step(t, "reboot", func() {
			must(t, testCluster.Machine.Reboot(ctx))
			awaitNode(ctx, t)
			awaitPods(ctx, t)
			checkTraffic(ctx, t)
			checkNoDrift(ctx, t)
		})
		step(t, "NetworkManager restart", func() { restartNetworkManager(ctx, t) })
	}
	step(t, "leave", func() {
		makeOVNNewest(ctx, t)
		awaitPlugin(ctx, t)
		runAgent(ctx, t, waittest.Timeout, "leave")
	})
	step(t, "nothing left", func() { checkNetworkRestored(ctx, t, before) })
	if !thorough || t.Failed() {
		return
	}
	step(t, "second join", func() {
		deleteNode(ctx, t)
		runAgent(ctx, t, 20*time.Minute, joinCommand)
		awaitPods(ctx, t)
		checkGatewayIsBridge(ctx, t)
		checkTraffic(ctx, t)
		checkNoDrift(ctx, t)
	})
	step(t, "leave while the network plugin starts", func() {
		makeOVNNewest(ctx, t)
		runAgent(ctx, t, waittest.Timeout, "leave")
		checkNetworkRestored(ctx, t, before)
	})
}

// deleteNode deletes the Node and waits until its pods are deleted too. Pods that outlive their Node keep addresses of
// its former subnet.
func deleteNode(ctx context.Context, t *testing.T) {
	t.Helper()
	must(t, testCluster.Client.CoreV1().Nodes().Delete(ctx, testenv.NodeName, metav1.DeleteOptions{}))
	waittest.Until(t, "waiting for the pods of the deleted Node to be deleted", func() (any, bool) {
		ofNode := metav1.ListOptions{FieldSelector: "spec.nodeName=" + testenv.NodeName}
		list, err := testCluster.Client.CoreV1().Pods(corev1.NamespaceAll).List(ctx, ofNode)
		if err != nil {
			return err, false
		}
		var names []string
		for _, pod := range list.Items {
			names = append(names, pod.Namespace+"/"+pod.Name)
		}
		return names, len(names) == 0
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// step logs the duration of a part of the test.
func step(t *testing.T, name string, do func()) {
	t.Helper()
	began := time.Now()
	t.Logf("== %s", name)
	do()
	t.Logf("== %s: %.0f s", name, time.Since(began).Seconds())
}

// output runs a command in the machine that must succeed and returns its output.
func output(ctx context.Context, t *testing.T, command string) string {
	t.Helper()
	out, err := testCluster.Machine.Output(ctx, command)
	must(t, err)
	return out
}

// runAgent runs the agent in the machine, logs its output and requires exit code 0.
func runAgent(ctx context.Context, t *testing.T, limit time.Duration, args string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var out strings.Builder
	code, err := testCluster.Machine.RunStream(ctx, "hcp-node-agent "+args, nil, &out, &out)
	t.Logf("# hcp-node-agent %s\n%s(exit code %d)", args, out.String(), code)
	must(t, err)
	if code != 0 {
		t.Errorf("hcp-node-agent %s: exit code %d", args, code)
	}
}

// checkNoDrift checks that the agent and OVN-Kubernetes do not conflict: no drift is reported, and a
// join neither changes anything nor reverts settings of OVN-Kubernetes.
func checkNoDrift(ctx context.Context, t *testing.T) {
	t.Helper()
	runAgent(ctx, t, waittest.Timeout, "status")
	var diagnosis struct {
		Findings []struct {
			Check    string
			Severity report.Severity
			Message  string
		}
	}
	must(t, json.Unmarshal([]byte(output(ctx, t, "hcp-node-agent doctor --output json 2>/dev/null")), &diagnosis))
	checked := false
	for _, finding := range diagnosis.Findings {
		if finding.Check == "drift" {
			checked = true
			if finding.Severity != report.SeverityOK {
				t.Errorf("doctor reports %+v", finding)
			}
		}
	}
	if !checked {
		t.Error("doctor does not report whether there is drift")
	}
	var document struct {
		Changed bool
		Steps   []struct{ Name, Result, Message string }
	}
	must(t, json.Unmarshal([]byte(output(ctx, t, "hcp-node-agent join --output json 2>/dev/null")), &document))
	if document.Changed {
		t.Errorf("join on a joined host changes it: %+v", document.Steps)
	}
	forwarding := output(ctx, t, "sysctl -n net.ipv4.ip_forward net.ipv6.conf.all.forwarding")
	if forwarding != "0\n0" {
		t.Errorf("OVN-Kubernetes disabled forwarding, now net.ipv4.ip_forward and net.ipv6.conf.all.forwarding are %q",
			forwarding)
	}
}

// restartNetworkManager checks that the uplink keeps the OpenFlow port that OVN's flows refer to,
// and that the host keeps its network.
func restartNetworkManager(ctx context.Context, t *testing.T) {
	t.Helper()
	const ofport = "ovs-vsctl get Interface eth0 ofport"
	before := output(ctx, t, ofport)
	output(ctx, t, "systemctl restart NetworkManager && nm-online -q -t 300")
	if after := output(ctx, t, ofport); after != before {
		t.Errorf("the OpenFlow port of eth0 was %s and is %s after a restart of NetworkManager", before, after)
	}
	if route := output(ctx, t, "ip -4 route show default"); !strings.Contains(route, "dev br-ex") {
		t.Errorf("the default route after a restart of NetworkManager is %q", route)
	}
	checkTraffic(ctx, t)
}

// makeOVNNewest deletes OVN-Kubernetes' pod, so that its replacement is newer than the pods of
// the pod network. If leave stopped pods in the runtime's order, it would stop OVN-Kubernetes
// first.
func makeOVNNewest(ctx context.Context, t *testing.T) {
	t.Helper()
	_, err := testCluster.kube(ctx, "", "-n", namespace, "delete", "pod", "-l", "app=ovnkube-node",
		"--timeout="+waittest.Timeout.String())
	must(t, err)
	awaitPods(ctx, t)
	list, err := testCluster.Client.CoreV1().Pods(corev1.NamespaceAll).List(ctx, metav1.ListOptions{})
	must(t, err)
	for _, pod := range list.Items {
		t.Logf("%s %s/%s", pod.CreationTimestamp.Format(time.TimeOnly), pod.Namespace, pod.Name)
	}
}

// awaitPlugin waits until OVN-Kubernetes' server for CNI requests responds, which requires that
// the node is configured.
func awaitPlugin(ctx context.Context, t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, waittest.Timeout)
	defer cancel()
	const socket = "/run/ovn-kubernetes/cni/ovn-cni-server.sock"
	_, err := testCluster.Machine.Output(ctx, "until curl -s -o /dev/null --unix-socket "+socket+
		" http://localhost/; do sleep 1; done")
	must(t, err)
}

// keepJournal saves the machine's journal and OVN-Kubernetes' logs after a failure.
func keepJournal(t *testing.T) {
	if !t.Failed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), waittest.Timeout)
	defer cancel()
	journal, err := testCluster.Machine.Output(ctx, "journalctl -b --no-pager -o short-monotonic")
	if err != nil {
		journal = err.Error()
	}
	pods, err := testCluster.kube(ctx, "", "-n", namespace, "logs", "ds/ovnkube-node", "-c", "ovnkube-controller",
		"--tail=2000")
	if err != nil {
		pods = err.Error()
	}
	for name, content := range map[string]string{"machine.journal": journal, "ovnkube-controller.log": pods} {
		path := filepath.Join(testCluster.dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Log(err)
		}
		t.Logf("kept %s", path)
	}
}
