//go:build vm

package e2e

import (
	"encoding/json"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/scene"
)

func TestJoinAgainRebootLeaveAndJoin(t *testing.T) {
	ctx := fresh(t)
	before := hostState(ctx, t)
	doctorOfFresh(ctx, t)

	session, err := stage.Machine.Uplink(ctx) // the administrator's, over the interface that br-ex takes
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

	// What OVN-Kubernetes looks for, and that a restart of NetworkManager keeps it.
	bridge := mustOutput(ctx, t, `systemctl restart NetworkManager && nm-online -q -t 60
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
	left := agent(ctx, t, report.Done, "leave")
	wants(t, left.Stdout, "oc delete node "+scene.Node)
	sameHost(ctx, t, before)

	must(t, stage.Client.CoreV1().Nodes().Delete(ctx, scene.Node, metav1.DeleteOptions{}))
	agent(ctx, t, report.Done, joining)
	_, err = stage.RunPod(ctx, "second")
	must(t, err)
}
