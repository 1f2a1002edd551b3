// SPDX-License-Identifier: Apache-2.0

//go:build vm

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/leave"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
)

const (
	adopt = " --adopt --user-data " + testenv.UserDataPath
	// editedFile is a file of the payload that the host had before its join.
	editedFile = "/etc/containers/registries.conf"
)

// TestAdoptedHost adopts a node of which no record exists, while its pods run. A join then applies what differs, and a
// leave removes the node and keeps what it does not know. The host stays reachable, also after a boot.
func TestAdoptedHost(t *testing.T) {
	ctx := newContext(t)
	runAgent(ctx, t, report.Success, joinCommand)
	_, err := environment.RunPod(ctx, "before-adoption")
	must(t, err)
	mustOutput(ctx, t, "systemctl stop hcp-node-agent && rm -rf /var/lib/hcp-node-agent && echo '# mine' >>"+editedFile)
	before := runningNode(ctx, t)
	testRefusalsOfUnrecordedNode(ctx, t)
	testAdoption(ctx, t)
	if diff := cmp.Diff(before, runningNode(ctx, t)); diff != "" {
		t.Fatalf("the adoption has changed the node (-want +got):\n%s", diff)
	}
	runAgent(ctx, t, report.Success, "status")
	checkContains(t, runAgent(ctx, t, report.Refused, "join"+adopt).Stderr, "has a record of its join")

	runAgent(ctx, t, report.Success, "join")
	if edits := mustOutput(ctx, t, "grep -cx '# mine' "+editedFile+" || true"); edits != "0" {
		t.Errorf("%s has edits after the join: %s", editedFile, edits)
	}
	checkContains(t, runAgent(ctx, t, report.Success, "join").Stdout, "nothing was changed")
	mustOutput(ctx, t, "rm /etc/kubernetes/kubelet.conf")
	checkContains(t, runAgent(ctx, t, report.DriftFound, "status").Stdout, "/etc/kubernetes/kubelet.conf")
	runAgent(ctx, t, report.Success, "join")
	testLeaveOfAdoptedHost(ctx, t)
}

// testRefusalsOfUnrecordedNode runs the commands that must not treat the node as one of the agent.
func testRefusalsOfUnrecordedNode(ctx context.Context, t *testing.T) {
	t.Helper()
	refused := runAgent(ctx, t, report.Refused, joinByUserData)
	checkContains(t, refused.Stdout+refused.Stderr, "this host is already a node of ", "--adopt")
	left := runAgent(ctx, t, report.Refused, "leave --yes")
	checkContains(t, left.Stdout+left.Stderr, "no join of it is recorded")
	planned := runAgent(ctx, t, report.Success, "plan"+adopt)
	checkContains(t, planned.Stdout, "file "+editedFile+": other content", "bridge br-ex")
	records := mustOutput(ctx, t, "ls -A /var/lib/hcp-node-agent 2>/dev/null || true")
	if strings.Contains(records, ".json") {
		t.Errorf("refused commands and a plan have left records: %s", records)
	}
}

// testAdoption adopts the node, after an adoption that was killed while it waited for the control plane.
func testAdoption(ctx context.Context, t *testing.T) {
	t.Helper()
	server := mustOutput(ctx, t, "getent ahostsv4 "+apiEndpoint(t).Hostname()+" | head -n 1 | cut -d ' ' -f 1")
	mustOutput(ctx, t, "ip route add unreachable "+server)
	runUntilOutput(ctx, t, "hcp-node-agent join"+adopt, "waiting", func() {
		_, err := environment.Machine.Run(ctx, "kill -9 $(pidof hcp-node-agent)")
		must(t, err)
	})
	mustOutput(ctx, t, "ip route del unreachable "+server)
	mustOutput(ctx, t, "test -e /var/lib/hcp-node-agent/adoption.json")
	checkContains(t, runAgent(ctx, t, report.Success, "leave --yes").Stdout, "the host remains a node")
	var document struct{ Adoption plan.AdoptionDocument }
	must(t, json.Unmarshal([]byte(runAgent(ctx, t, report.Success, "join --output json"+adopt).Stdout), &document))
	if differences := document.Adoption.Differences; len(differences) != 1 || differences[0].Target != editedFile {
		t.Errorf("differences %v, want that of %s", differences, editedFile)
	}
	if document.Adoption.Recorded < 20 {
		t.Errorf("only %d objects are recorded", document.Adoption.Recorded)
	}
}

// testLeaveOfAdoptedHost leaves, and boots the host.
func testLeaveOfAdoptedHost(ctx context.Context, t *testing.T) {
	t.Helper()
	must(t, environment.DeletePods(ctx)) // no controller recreates them, so a drain would refuse them
	var preview leave.PreviewDocument
	must(t, json.Unmarshal([]byte(runAgent(ctx, t, report.Success, "leave --dry-run --output json").Stdout), &preview))
	isBridge := func(k leave.KeptItem) bool { return k.Target == "br-ex" && strings.Contains(k.Reason, "network") }
	if !slices.ContainsFunc(preview.Kept, isBridge) {
		t.Errorf("the preview does not keep br-ex: %+v", preview.Kept)
	}
	left := runAgent(ctx, t, report.Success, "leave --yes")
	checkContains(t, left.Stdout, "kept, because the agent did not join this host", "bridge br-ex",
		"oc delete node "+testenv.NodeName)
	gone := mustOutput(ctx, t, `ls -d /var/lib/kubelet/pki /var/lib/kubelet/kubeconfig /var/lib/kubelet/pods \
		/etc/kubernetes/kubelet.conf /etc/kubernetes/kubeconfig /etc/kubernetes/cni/net.d/* \
		/var/lib/hcp-node-agent/join.json /etc/systemd/system/kubelet.service 2>/dev/null || true
		systemctl is-active kubelet crio | grep -x active || true
		tail -n 1 `+editedFile)
	if gone != "# mine" {
		t.Errorf("after the leave: %s", gone)
	}
	const bridge = "ovs-vsctl list-ports br-ex | grep eth0 && ip route show default | grep -o 'dev br-ex' | head -n 1"
	checkContains(t, mustOutput(ctx, t, bridge), "dev br-ex")
	must(t, environment.Machine.Restart(ctx))
	must(t, environment.Machine.WaitSSH(ctx))
	await(ctx, t, bridge)
	server := apiEndpoint(t)
	await(ctx, t, fmt.Sprintf("timeout 5 bash -c '</dev/tcp/%s/%s'", server.Hostname(), server.Port()))
}

// runningNode returns what an adoption must not change: containers, processes, br-ex and its flows.
func runningNode(ctx context.Context, t *testing.T) []string {
	t.Helper()
	pods, err := environment.Client.CoreV1().Pods(corev1.NamespaceAll).List(ctx,
		metav1.ListOptions{FieldSelector: "spec.nodeName=" + testenv.NodeName})
	must(t, err)
	var lines []string
	for _, pod := range pods.Items {
		for _, status := range pod.Status.ContainerStatuses {
			started := "not running"
			if status.State.Running != nil {
				started = status.State.Running.StartedAt.String()
			}
			lines = append(lines, fmt.Sprintf("%s/%s %s %s %d", pod.Namespace, pod.Name, status.ContainerID, started,
				status.RestartCount))
		}
	}
	slices.Sort(lines)
	if len(lines) == 0 {
		t.Fatal("no pod runs on the node")
	}
	return append(lines, strings.Split(mustOutput(ctx, t, `
		systemctl show -P MainPID kubelet crio
		ovs-vsctl list-ports br-ex
		ovs-ofctl --no-stats dump-flows br-ex | sort
		nmcli -t -f NAME,UUID,DEVICE connection show --active | sort
		find /etc /usr/local /var/lib/kubelet/config.json /var/lib/kubelet/pki -xdev -type f \
			! -path '/etc/openvswitch/*' ! -path '/etc/hcp-node-agent/*' -exec sha256sum {} + | sort -k2`), "\n")...)
}
