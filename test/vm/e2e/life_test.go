// SPDX-License-Identifier: Apache-2.0

//go:build vm

package e2e

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
	"github.com/hcp-node-agent/hcp-node-agent/test/vm/ovn"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// networkPlugin is the network plugin of the test that has deployed it.
var networkPlugin *ovn.Cluster

// deployNetworkPlugin deploys OVN-Kubernetes until the test ends.
func deployNetworkPlugin(ctx context.Context, t *testing.T) {
	t.Helper()
	var err error
	networkPlugin, err = ovn.Deploy(ctx, environment, "../../..", logs)
	must(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			saveNetworkPluginLog(t)
		}
		networkPlugin.Close()
	})
}

// TestNodeLifeCycle tests the life of a node with OVN-Kubernetes: the join over the interface that it attaches to
// br-ex, the network of pods, an upgrade of the software while clients use a workload, and leave, which restores the
// host. TestCommandsOfNode runs the commands about a node. THOROUGH=1 adds another minor release of Kubernetes, a
// rollback and kills, a reboot, a second join, and leave while OVN-Kubernetes starts.
func TestNodeLifeCycle(t *testing.T) {
	ctx := newContextFor(t, 4*time.Hour)
	isThorough := os.Getenv("THOROUGH") != ""
	deployNetworkPlugin(ctx, t)
	first, next := moveSoftware(ctx, t)
	must(t, environment.Serve(ctx, first.payload))
	before, network := hostState(ctx, t), networkState(ctx, t)
	part := func(name string, run func()) {
		began := time.Now()
		t.Logf("== %s", name)
		run()
		t.Logf("== %s: %.0f s", name, time.Since(began).Seconds())
	}
	part("join", func() { joinOverUplink(ctx, t) })
	part("pods", func() { awaitPods(ctx, t) })
	part("gateway", func() { checkGatewayIsBridge(ctx, t) })
	part("traffic", func() { checkTraffic(ctx, t) })
	checkNoSecrets(ctx, t)
	part("upgrade", func() { upgradeLayer(ctx, t, first, next) })
	part("no drift", func() { checkNoDrift(ctx, t) })
	if isThorough {
		part("reboot", func() {
			must(t, environment.Machine.Reboot(ctx))
			awaitReadyNode(ctx, t)
			awaitPods(ctx, t)
			checkTraffic(ctx, t)
			checkNoDrift(ctx, t)
		})
	}
	part("restart of NetworkManager", func() { testRestartOfNetworkManager(ctx, t) })
	if isThorough {
		part("traffic after the restart", func() { checkTraffic(ctx, t) })
	}
	makeManualChanges(ctx, t)
	part("leave", func() {
		makeOVNNewest(ctx, t)
		awaitPlugin(ctx, t)
		left := runAgent(ctx, t, report.Success, "leave")
		checkContains(t, left.Stdout, "oc delete node "+testenv.NodeName)
		checkManualChangesKept(ctx, t, left.Stdout)
	})
	part("nothing left", func() {
		checkNetworkRestored(ctx, t, network)
		checkHostState(ctx, t, before)
	})
	if !isThorough || t.Failed() {
		return
	}
	part("second join", func() {
		deleteNode(ctx, t)
		runAgent(ctx, t, report.Success, joinCommand)
		awaitPods(ctx, t)
		checkGatewayIsBridge(ctx, t)
		checkTraffic(ctx, t)
		checkNoDrift(ctx, t)
	})
	part("leave while the network plugin starts", func() {
		makeOVNNewest(ctx, t)
		runAgent(ctx, t, report.Success, "leave")
		checkNetworkRestored(ctx, t, network)
	})
}

// joinOverUplink joins while a session over the interface that is attached to br-ex is open, which must survive.
func joinOverUplink(ctx context.Context, t *testing.T) {
	t.Helper()
	session, err := environment.Machine.Uplink(ctx)
	must(t, err)
	must(t, session.Connect(ctx))
	defer session.Disconnect()
	testJoinWithEndpoint(ctx, t)
	if who, err := session.Output(ctx, "hostname"); err != nil || who != testenv.NodeName || !session.Connected() {
		t.Errorf("the session over the uplink did not survive: %q, %v", who, err)
	}
}

// deleteNode deletes the Node and waits until its pods are deleted too. Pods that outlive their Node keep addresses of
// its former subnet.
func deleteNode(ctx context.Context, t *testing.T) {
	t.Helper()
	must(t, environment.Client.CoreV1().Nodes().Delete(ctx, testenv.NodeName, metav1.DeleteOptions{}))
	waittest.Until(t, "waiting for the pods of the deleted Node to be deleted", func() (any, bool) {
		ofNode := metav1.ListOptions{FieldSelector: "spec.nodeName=" + testenv.NodeName}
		list, err := environment.Client.CoreV1().Pods(corev1.NamespaceAll).List(ctx, ofNode)
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

// checkNoDrift checks that the agent and OVN-Kubernetes do not conflict: no drift is reported, and a
// join neither changes anything nor reverts settings of OVN-Kubernetes.
func checkNoDrift(ctx context.Context, t *testing.T) {
	t.Helper()
	runAgent(ctx, t, report.Success, "status")
	var diagnosis struct {
		Findings []struct {
			Check    string
			Severity report.Severity
			Message  string
		}
	}
	must(t, json.Unmarshal([]byte(mustOutput(ctx, t, "hcp-node-agent doctor --output json 2>/dev/null")), &diagnosis))
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
	must(t, json.Unmarshal([]byte(mustOutput(ctx, t, "hcp-node-agent join --output json 2>/dev/null")), &document))
	if document.Changed {
		t.Errorf("join on a joined host changes it: %+v", document.Steps)
	}
	forwarding := mustOutput(ctx, t, "sysctl -n net.ipv4.ip_forward net.ipv6.conf.all.forwarding")
	if forwarding != "0\n0" {
		t.Errorf("OVN-Kubernetes disabled forwarding, now net.ipv4.ip_forward and net.ipv6.conf.all.forwarding are %q",
			forwarding)
	}
}

// makeOVNNewest deletes OVN-Kubernetes' pod, so that its replacement is newer than the pods of
// the pod network. If leave stopped pods in the runtime's order, it would stop OVN-Kubernetes
// first.
func makeOVNNewest(ctx context.Context, t *testing.T) {
	t.Helper()
	_, err := networkPlugin.Kubectl(ctx, "", "-n", ovn.Namespace, "delete", "pod", "-l", "app=ovnkube-node",
		"--timeout="+waittest.Timeout.String())
	must(t, err)
	awaitPods(ctx, t)
	list, err := environment.Client.CoreV1().Pods(corev1.NamespaceAll).List(ctx, metav1.ListOptions{})
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
	_, err := environment.Machine.Output(ctx, "until curl -s -o /dev/null --unix-socket "+socket+
		" http://localhost/; do sleep 1; done")
	must(t, err)
}

// saveNetworkPluginLog saves the log of OVN-Kubernetes.
func saveNetworkPluginLog(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), waittest.Timeout) // the context of the test has ended
	defer cancel()
	log, err := networkPlugin.Kubectl(ctx, "", "-n", ovn.Namespace, "logs", "ds/ovnkube-node", "-c", "ovnkube-controller",
		"--tail=2000")
	if err != nil {
		log = err.Error()
	}
	path := filepath.Join(logs, "ovnkube-controller.log")
	if err := os.WriteFile(path, []byte(log), 0o600); err != nil {
		t.Log(err)
	}
	t.Logf("log of OVN-Kubernetes: %s", path)
}
