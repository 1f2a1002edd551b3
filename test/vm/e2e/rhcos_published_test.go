// SPDX-License-Identifier: Apache-2.0

//go:build vm

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/bed"
	"github.com/hcp-node-agent/hcp-node-agent/test/nodeimage"
	"github.com/hcp-node-agent/hcp-node-agent/test/rights"
	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// TestPublishedUserDataOnRHCOS boots a host of RHCOS with user data that is valid as long as its join token: Ignition
// installs only the agent, which gets the published user data from the cluster, boots the image of the payload and
// makes the host a node without a login.
func TestPublishedUserDataOnRHCOS(t *testing.T) {
	ctx := newContext(t)
	image := pushNodeImage(t, firstImage, nodeimage.FirstRelease, nil)
	serve(ctx, t, nativePayload(t, image))
	userData := publishedUserData(ctx, t)
	if strings.Contains(string(userData), environment.ControlPlane.IgnitionEndpoint) {
		t.Fatal("the user data contains the ignition server, whose token expires")
	}
	runController(ctx, t)
	must(t, environment.Provision(ctx, userData))
	must(t, environment.AwaitOSImage(ctx, image))
	waittest.Until(t, "waiting for the Node, which kubelet creates after a second reboot", func() (any, bool) {
		_, err := environment.Client.CoreV1().Nodes().Get(ctx, testenv.NodeName, metav1.GetOptions{})
		return err, err == nil
	})
	must(t, environment.Machine.WaitSSH(ctx))
	awaitReadyNode(ctx, t)
	await(ctx, t, "systemctl is-active hcp-node-agent")
	t.Log(mustOutput(ctx, t, "journalctl --no-pager -o cat -u hcp-node-agent"))
	checkImage(ctx, t, image, firstImage)
	checkContains(t, runAgent(ctx, t, report.Success, "status").Stdout, "no drift")
	mustOutput(ctx, t, "! ls /etc/hcp-node-agent/node.token 2>/dev/null")
	_, err := environment.RunPod(ctx, "published")
	must(t, err)
}

// publishedUserData publishes the user data of the control plane as the controller does, and enrolls the machine.
func publishedUserData(ctx context.Context, t *testing.T) []byte {
	t.Helper()
	must(t, grantRights())
	current, err := environment.ControlPlane.CurrentUserData(ctx)
	must(t, err)
	_, err = bed.Kubectl(ctx, environment.ControlPlane.Kubeconfig, rights.PublishedUserData(current, testenv.NodeName),
		"apply", "-f", "-")
	must(t, err)
	dir := t.TempDir()
	kubeconfig, err := environment.NodeSideKubeconfig(environment.ControlPlane.Kubeconfig)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "hosted.kubeconfig"), kubeconfig, 0o600))
	command, err := environment.NetworkCommand(ctx, dir, "../../../bin/hcp-node-admin", append(serveAgent(ctx, t),
		"enroll", "workers", testenv.NodeName+"="+uplinkAddress(ctx, t), "--hosted-kubeconfig", "hosted.kubeconfig",
		"--output-dir", dir, "--expires", "72h")...)
	must(t, err)
	command.Stdout, command.Stderr = t.Output(), t.Output()
	must(t, command.Run())
	content, err := os.ReadFile(enrollment.HostPath(dir, testenv.NodeName, ".ign"))
	must(t, err)
	return content
}
