// SPDX-License-Identifier: Apache-2.0

//go:build vm

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
)

// TestCommandsOfNode runs the commands about a host before and after its join, and those of the documentation.
func TestCommandsOfNode(t *testing.T) {
	ctx := newContext(t)
	testDoctorBeforeJoin(ctx, t)
	testPlannedBridge(ctx, t)
	testUnreachableEndpoint(ctx, t)
	runAgent(ctx, t, report.Success, joinCommand)
	testNothingToChange(ctx, t)
	testDocumentedReads(ctx, t)
	testDoctorOfHealthyNode(ctx, t)
	testDoctorOfStoppedKubelet(ctx, t)
}

// TestBootAndSecondJoin boots a node with another address, and joins a host that has joined before: with new user data,
// after leave, and after the Node was deleted.
func TestBootAndSecondJoin(t *testing.T) {
	ctx := newContext(t)
	mustOutput(ctx, t, "mkdir -p /data/kubelet && ln -s /data/kubelet /var/lib/kubelet")
	runAgent(ctx, t, report.Success, joinCommand)
	testBootWithOtherAddress(ctx, t, testStatusOfBridge(ctx, t).NodeIPs[0].String())
	runAgent(ctx, t, report.Success, "status")
	testNodeIPWithoutTheAgent(ctx, t)
	renewUserData(ctx, t)
	mustOutput(ctx, t, mountVolume)
	runAgent(ctx, t, report.Success, "leave")
	if left := mustOutput(ctx, t, "cat /srv/database/record; find /data/kubelet -name '*.pem'"); left != "precious" {
		t.Errorf("after the leave, the volume and the keys of kubelet are: %q, want the volume alone", left)
	}
	must(t, environment.Client.CoreV1().Nodes().Delete(ctx, testenv.NodeName, metav1.DeleteOptions{}))
	runAgent(ctx, t, report.Success, joinCommand)
	_, err := environment.RunPod(ctx, "second")
	must(t, err)

	must(t, environment.Client.CoreV1().Nodes().Delete(ctx, testenv.NodeName, metav1.DeleteOptions{}))
	checkContains(t, runAgent(ctx, t, report.Failed, "doctor").Stdout,
		"Node "+testenv.NodeName+" was deleted from the cluster")
	runAgent(ctx, t, report.Success, "join")
	awaitReadyNode(ctx, t)
}

// mountVolume mounts a directory of the same file system, as kubelet mounts local volumes. kubelet leaves it, because
// its pod is unknown. The directory of kubelet is behind a link.
const mountVolume = `
volume=/var/lib/kubelet/pods/1234/volumes/kubernetes.io~local-volume/database
mkdir -p /srv/database $volume && echo precious >/srv/database/record && mount --bind /srv/database $volume`

// testNothingToChange runs join and plan on a joined host.
func testNothingToChange(ctx context.Context, t *testing.T) {
	t.Helper()
	again := runAgent(ctx, t, report.Success, "join")
	checkContains(t, again.Stdout, "nothing was changed")
	var document struct {
		Changed bool
		Steps   []struct{ Name, Result string }
	}
	must(t, json.Unmarshal([]byte(runAgent(ctx, t, report.Success, "join --output json").Stdout), &document))
	if document.Changed || len(document.Steps) != 14 {
		t.Errorf("the document of a third join: %+v", document)
	}
	checkContains(t, runAgent(ctx, t, report.Success, "status").Stdout, "release         OpenShift 4.21 on RHEL 9.6")
	var plan struct{ Changes []any }
	must(t, json.Unmarshal([]byte(runAgent(ctx, t, report.Success, "plan --output json").Stdout), &plan))
	if len(plan.Changes) != 0 {
		t.Errorf("the plan of a joined host is not empty: %v", plan.Changes)
	}
	// The same payload planned with recorded facts, as on another machine.
	checkContains(t,
		mustOutput(ctx, t,
			"hcp-node-agent plan --print-facts | hcp-node-agent plan --payload /var/lib/hcp-node-agent/payload.ign --facts -"),
		"facts      standard input: ", "Not planned")
}

// renewUserData joins a host that has lost its client certificate with new user data, as doctor recommends.
// The agent fetches the payload again for its bootstrap credential.
func renewUserData(ctx context.Context, t *testing.T) {
	t.Helper()
	must(t, environment.ControlPlane.RotateToken(ctx))
	userData, err := environment.ControlPlane.CurrentUserData(ctx)
	must(t, err)
	must(t, environment.Machine.Put(ctx, testenv.UserDataPath, bytes.NewReader(userData), 0o600))
	mustOutput(ctx, t, "systemctl stop kubelet && rm /var/lib/kubelet/pki/kubelet-client-*")
	result := runAgent(ctx, t, report.Success, joinCommand)
	checkContains(t, result.Stdout, "until ", "(CSR node-csr-", "removed the bootstrap credential")
	checkNoSecrets(ctx, t)
	checkContains(t, runAgent(ctx, t, report.Success, joinCommand).Stdout, "stored by an earlier run",
		"nothing was changed")
}

// makeManualChanges makes changes that an administrator can make on a node: it edits a file of
// the payload that replaced a file of the host, and creates a podman network.
func makeManualChanges(ctx context.Context, t *testing.T) {
	t.Helper()
	mustOutput(ctx, t,
		`echo '# mine' >>/etc/containers/registries.conf && mkdir -p /etc/cni/net.d && touch /etc/cni/net.d/mine.conflist`)
}

// checkManualChangesKept checks that leave has kept these changes and the original file, and that leave
// reports them. It then removes them for the comparison of the host state.
func checkManualChangesKept(ctx context.Context, t *testing.T, output string) {
	t.Helper()
	checkContains(t, output,
		"its state before the join is backed up in /etc/containers/registries.conf.before-hcp-node-agent",
		"/etc/cni/net.d/mine.conflist")
	mustOutput(ctx, t, `tail -n 1 /etc/containers/registries.conf | grep -qx '# mine' &&
		mv /etc/containers/registries.conf.before-hcp-node-agent /etc/containers/registries.conf &&
		rm /etc/cni/net.d/mine.conflist && rmdir -p --ignore-fail-on-non-empty /etc/cni/net.d`)
}
