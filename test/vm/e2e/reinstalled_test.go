// SPDX-License-Identifier: Apache-2.0

//go:build vm

package e2e

import (
	"bytes"
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
)

// formerCertificate is kubelet's client certificate with its key. It remains on a /var that an installation keeps.
const formerCertificate = "/var/lib/kubelet/pki/kubelet-client-current.pem"

// TestReinstalledHost joins a machine by a file for cloud-init, installs the machine again, and boots it with the same
// file. The machine gets its name back without a person. A certificate of the former installation is refused.
func TestReinstalledHost(t *testing.T) {
	ctx := newContext(t)
	userData, err := environment.ControlPlane.CurrentUserData(ctx)
	must(t, err)
	address, err := environment.Machine.Address(ctx)
	must(t, err)
	file := enrolledFile(ctx, t, address.String(), "cloud-init", ".cloud-init.yaml", userData, "",
		"--reinstall", "allow-same-token")
	boot := func() string {
		removeAgent(ctx, t)
		bootWithSeed(ctx, t, map[string]string{"meta-data": "instance-id: " + t.Name() + "\n", "user-data": file})
		await(ctx, t, "systemctl is-active hcp-node-agent")
		awaitReadyNode(ctx, t)
		return nodeUID(ctx, t)
	}
	first := boot()
	former := mustOutput(ctx, t, "cat "+formerCertificate)
	must(t, environment.Machine.Restore(ctx, installedSnapshot))
	must(t, environment.CopyInputs(ctx))
	mustOutput(ctx, t, "mkdir -p /var/lib/kubelet/pki")
	must(t, environment.Machine.Put(ctx, formerCertificate, bytes.NewReader([]byte(former)), 0o600))
	refused, err := environment.Machine.Run(ctx, "hcp-node-agent join --user-data /root/user-data.ign")
	must(t, err)
	if refused.ExitCode != int(report.Refused) {
		t.Errorf("exit code %d with the certificate of the former installation", refused.ExitCode)
	}
	checkContains(t, refused.Stdout+refused.Stderr, formerCertificate)
	mustOutput(ctx, t, "hcp-node-agent leave --leftovers && ! ls "+formerCertificate)

	if second := boot(); second != first {
		t.Errorf("the Node was %s and is %s", first, second)
	}
	if now := mustOutput(ctx, t, "cat "+formerCertificate); now == former {
		t.Error("the node has its former certificate")
	}
	_, err = environment.RunPod(ctx, "reinstalled")
	must(t, err)
}

// nodeUID returns the UID of the machine's Node.
func nodeUID(ctx context.Context, t *testing.T) string {
	t.Helper()
	node, err := environment.Client.CoreV1().Nodes().Get(ctx, testenv.NodeName, metav1.GetOptions{})
	must(t, err)
	return string(node.UID)
}
