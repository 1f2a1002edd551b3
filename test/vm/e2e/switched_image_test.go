// SPDX-License-Identifier: Apache-2.0

//go:build vm

package e2e

import (
	"bytes"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/nodeimage"
)

// TestSwitchedImage joins a bootc host that boots the image of the payload, and is RHEL CoreOS then. The agent is a
// program of the image that the host leaves. Users, keys and network profiles remain.
func TestSwitchedImage(t *testing.T) {
	ctx := newContext(t)
	osRelease, err := os.ReadFile("../../image/ostree/os-release-coreos")
	must(t, err)
	image := pushNodeImage(t, firstImage, nodeimage.FirstRelease, map[string]string{"usr/lib/os-release": string(osRelease)})
	serve(ctx, t, nativePayload(t, image))
	must(t, environment.CopyInputs(ctx))

	// The agent appears in /usr in the place of a program that the test does not need.
	agent, err := os.ReadFile(agentBinary)
	must(t, err)
	must(t, environment.Machine.Put(ctx, "/root/agent", bytes.NewReader(agent), 0o755))
	const inImage = "/usr/bin/gawk"
	mustOutput(ctx, t, "systemctl disable --quiet hcp-node-agent && rm /usr/local/bin/hcp-node-agent "+
		"/etc/systemd/system/hcp-node-agent.service && systemctl daemon-reload && mount --bind /root/agent "+inImage)
	const owned = `useradd --create-home --groups users administrator
		nmcli connection add type dummy ifname dummy7 con-name kept autoconnect no >/dev/null`
	mustOutput(ctx, t, owned)
	const kept = `id administrator; ls -d /home/administrator; cat /etc/ssh/ssh_host_*_key.pub /root/.ssh/authorized_keys
		nmcli -g connection.uuid connection show kept`
	before := mustOutput(ctx, t, kept)

	must(t, environment.Machine.RestartBy(ctx, func() error {
		out := runUntilOutput(ctx, t, inImage+" "+joinByUserData+" --switch-image --apply-host-settings=reboot",
			"rebooting the host into the image", func() {})
		t.Logf("join:\n%s", out)
		return nil
	}))
	approveCSRs(ctx, t)
	must(t, environment.Machine.WaitSSH(ctx))
	awaitReadyNode(ctx, t)
	await(ctx, t, "systemctl is-active hcp-node-agent")
	checkImage(ctx, t, image, firstImage)
	if diff := cmp.Diff(before, mustOutput(ctx, t, kept)); diff != "" {
		t.Errorf("what belongs to the administrator (-before +now):\n%s", diff)
	}
	checkContains(t, runAgent(ctx, t, report.Success, "status --output json").Stdout, `"hostClass": "coreos"`)
	_, err = environment.RunPod(ctx, "switched")
	must(t, err)
}
