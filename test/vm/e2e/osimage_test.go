// SPDX-License-Identifier: Apache-2.0

//go:build vm

package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/nodeimage"
	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
)

// TestSoftwareOfTheOSImage joins a machine without kubelet and CRI-O from the user data alone. They
// come from the node layer of the OS image, which is read from a mirror with the pull secret. The disk
// is full at first. Then the join is killed while it unpacks, and the power is cut while it puts the software
// at its usual paths. Afterwards the node is upgraded to other software.
func TestSoftwareOfTheOSImage(t *testing.T) {
	ctx := newContext(t)
	source := nodeimage.MoveFiles(ctx, t, environment.Machine)
	must(t, environment.ControlPlane.ReplacePayload(ctx,
		payloadWithOSImage(t, nodeimage.Push(t, environment.ControlPlane, source, nodeimage.FirstRelease))))
	before := hostState(ctx, t)

	mustOutput(ctx, t, "fallocate -l $(($(df --output=avail -B1 / | tail -1) - 100000000)) /var/tmp/fill")
	refused := runAgent(ctx, t, report.Refused, joinCommand)
	checkContains(t, refused.Stdout, "the software of the OS image requires ", " MB on the file system of ", "df -h ")
	mustOutput(ctx, t, "rm /var/tmp/fill; ! ls -d /usr/libexec/hcp-node-agent /usr/bin/kubelet 2>/dev/null")

	runUntilOutput(ctx, t, "hcp-node-agent "+joinCommand, "unpacking the node layer", func() {
		mustOutput(ctx, t, "pkill -KILL -x hcp-node-agent")
	})
	runUntilOutput(ctx, t, "{ until ls /usr/bin/kubelet; do :; done 2>/dev/null & } ; hcp-node-agent "+joinCommand,
		"(?m)^/usr/bin/kubelet$", func() { must(t, environment.Machine.Kill(ctx)) })
	bootWithoutService(ctx, t)
	began := time.Now()
	result := runAgent(ctx, t, report.Success, joinCommand)
	t.Logf("after %s:\n%s", time.Since(began).Round(time.Second), result.Stdout)
	checkContains(t, result.Stdout, testenv.NodeName+" is Ready and schedulable")
	checkContains(t, mustOutput(ctx, t, "readlink -f /usr/bin/kubelet /usr/bin/crio; ls /var/lib/hcp-node-agent"),
		"/usr/libexec/hcp-node-agent/software/sha256-", "/usr/bin/kubelet", "software.json")
	mustOutput(ctx, t, "! ls /var/lib/hcp-node-agent/node-layer 2>/dev/null")
	_, err := environment.RunPod(ctx, "with-software-of-the-image")
	must(t, err)
	runAgent(ctx, t, report.Success, "status")

	upgradeNode(ctx, t, nodeimage.Push(t, environment.ControlPlane, source, nodeimage.NextRelease))

	must(t, environment.DeletePods(ctx))
	runAgent(ctx, t, report.Success, "leave")
	mustOutput(ctx, t, "! ls -d /usr/libexec/hcp-node-agent /usr/bin/kubelet /usr/bin/crio 2>/dev/null")
	checkHostState(ctx, t, before)
}

// bootWithoutService boots the machine, and stops the service, which resumes an interrupted join.
func bootWithoutService(ctx context.Context, t *testing.T) {
	t.Helper()
	must(t, environment.Machine.Boot(ctx))
	must(t, environment.Machine.WaitSSH(ctx))
	mustOutput(ctx, t, "systemctl stop hcp-node-agent")
}
