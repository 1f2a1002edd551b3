//go:build vm

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/scene"
)

// TestJoinAgainRebootLeaveAndJoin tests the life cycle of a node.
func TestJoinAgainRebootLeaveAndJoin(t *testing.T) {
	ctx := fresh(t)
	before := hostState(ctx, t)
	doctorOfFresh(ctx, t)

	session, err := stage.Machine.Uplink(ctx) // over the interface that is attached to br-ex
	must(t, err)
	must(t, session.Connect(ctx))
	agent(ctx, t, report.Done, joining)
	if who, err := session.Output(ctx, "hostname"); err != nil || who != scene.Node || !session.Connected() {
		t.Errorf("the session over the uplink did not survive: %q, %v", who, err)
	}
	session.Disconnect()
	pod, err := stage.RunPod(ctx, "first")
	must(t, err)
	if pod.Spec.NodeName != scene.Node {
		t.Errorf("the pod runs on %q", pod.Spec.NodeName)
	}

	again := agent(ctx, t, report.Done, "join")
	wants(t, again.Stdout, "nothing was changed")
	var document struct {
		Changed bool
		Steps   []struct{ Name, Result string }
	}
	must(t, json.Unmarshal([]byte(agent(ctx, t, report.Done, "join --output json").Stdout), &document))
	if document.Changed || len(document.Steps) != 14 {
		t.Errorf("a third join says %+v", document)
	}
	agent(ctx, t, report.Done, "status")
	var plan struct{ Changes []any }
	must(t, json.Unmarshal([]byte(agent(ctx, t, report.Done, "plan --output json").Stdout), &plan))
	if len(plan.Changes) != 0 {
		t.Errorf("the plan of a joined host is not empty: %v", plan.Changes)
	}
	noSecrets(ctx, t)
	doctorOfJoined(ctx, t)
	doctorOfStopped(ctx, t)

	// Check the settings that OVN-Kubernetes reads, and that they survive a restart of
	// NetworkManager.
	bridge := mustOutput(ctx, t, `systemctl restart NetworkManager && nm-online -q -t 300
		ovs-vsctl get Bridge br-ex external_ids:bridge-uplink; ovs-vsctl get Interface eth0 type; ip route show default | grep -c 'dev br-ex'`)
	if bridge != "eth0\nsystem\n1" {
		t.Errorf("br-ex after a restart of NetworkManager: %s", bridge)
	}
	must(t, stage.Machine.Reboot(ctx))
	awaitReadyNode(ctx, t)
	_, err = stage.RunPod(ctx, "after-reboot")
	must(t, err)
	agent(ctx, t, report.Done, "status")

	must(t, stage.DeletePods(ctx))
	renewed(ctx, t)
	changedBySomebody(ctx, t)
	left := agent(ctx, t, report.Done, "leave")
	wants(t, left.Stdout, "oc delete node "+scene.Node)
	theirsStays(ctx, t, left.Stdout)
	sameHost(ctx, t, before)

	must(t, stage.Client.CoreV1().Nodes().Delete(ctx, scene.Node, metav1.DeleteOptions{}))
	agent(ctx, t, report.Done, joining)
	_, err = stage.RunPod(ctx, "second")
	must(t, err)

	must(t, stage.Client.CoreV1().Nodes().Delete(ctx, scene.Node, metav1.DeleteOptions{}))
	wants(t, agent(ctx, t, report.Failed, "doctor").Stdout, "Node "+scene.Node+" was deleted from the cluster")
	agent(ctx, t, report.Done, "join")
	awaitReadyNode(ctx, t)
}

// renewed gives a joined host without a client certificate new user data, as doctor recommends.
// The agent fetches the payload again for its bootstrap credential.
func renewed(ctx context.Context, t *testing.T) {
	t.Helper()
	must(t, stage.ControlPlane.RotateToken(ctx))
	stub, err := stage.ControlPlane.CurrentStub(ctx)
	must(t, err)
	must(t, stage.Machine.Put(ctx, scene.Stub, bytes.NewReader(stub), 0o600))
	mustOutput(ctx, t, "systemctl stop kubelet && rm /var/lib/kubelet/pki/kubelet-client-*")
	result := agent(ctx, t, report.Done, joining)
	wants(t, result.Stdout, "until ", "(CSR node-csr-", "the bootstrap credential is removed from it")
	noSecrets(ctx, t)
	wants(t, agent(ctx, t, report.Done, joining).Stdout, "kept from an earlier run", "nothing was changed")
}

// changedBySomebody makes changes that an administrator can make on a node: it edits a file of
// the payload that replaced a file of the host, and creates a podman network.
func changedBySomebody(ctx context.Context, t *testing.T) {
	t.Helper()
	mustOutput(ctx, t, `echo '# mine' >>/etc/containers/registries.conf && mkdir -p /etc/cni/net.d && touch /etc/cni/net.d/mine.conflist`)
}

// theirsStays checks that leave has kept these changes and the original file, and that leave
// reports them. It then removes them for the comparison of the host state.
func theirsStays(ctx context.Context, t *testing.T, said string) {
	t.Helper()
	wants(t, said, "how it was before is in /etc/containers/registries.conf.before-hcp-node-agent", "/etc/cni/net.d/mine.conflist")
	mustOutput(ctx, t, `tail -n 1 /etc/containers/registries.conf | grep -qx '# mine' &&
		mv /etc/containers/registries.conf.before-hcp-node-agent /etc/containers/registries.conf &&
		rm /etc/cni/net.d/mine.conflist && rmdir -p --ignore-fail-on-non-empty /etc/cni/net.d`)
}
