// SPDX-License-Identifier: Apache-2.0

//go:build vm

package e2e

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/nodeimage"
)

// TestRunningRHCOS joins a host of RHCOS that was installed without user data of the NodePool and runs another release:
// one command boots the image of the payload, writes what Ignition would have written, and boots once more. The files of
// the host are then those of a host that Ignition has provisioned, and those of the agent.
func TestRunningRHCOS(t *testing.T) {
	ctx := newContext(t)
	image := pushNodeImage(t, firstImage, nodeimage.FirstRelease, nil)
	provision(ctx, t, image, nil)
	approveCSRs(ctx, t)
	awaitReadyNode(ctx, t)
	provisioned := configuredFiles(ctx, t)

	must(t, environment.Reset(ctx))
	must(t, environment.Machine.Restore(ctx, installedSnapshot))
	must(t, environment.Install(ctx))
	serve(ctx, t, nativePayload(t, image))
	must(t, environment.CopyInputs(ctx))
	must(t, environment.Machine.RestartBy(ctx, func() error {
		out := runUntilOutput(ctx, t, "hcp-node-agent "+joinByUserData+" --apply-host-settings=reboot",
			"rebooting the host into the image", func() {})
		t.Logf("join:\n%s", out)
		return nil
	}))
	approveCSRs(ctx, t) // after a second reboot, by the service
	must(t, environment.Machine.WaitSSH(ctx))
	awaitReadyNode(ctx, t)
	await(ctx, t, "systemctl is-active hcp-node-agent")
	t.Log(mustOutput(ctx, t, "journalctl --no-pager -o cat -u hcp-node-agent"))
	checkImage(ctx, t, image, firstImage)
	if diff := cmp.Diff(provisioned, configuredFiles(ctx, t)); diff != "" {
		t.Errorf("files (-provisioned +joined):\n%s", diff)
	}
	checkContains(t, runAgent(ctx, t, report.Success, "status").Stdout, "no drift")
	_, err := environment.RunPod(ctx, "running")
	must(t, err)
}

// configuredFiles returns the files with which a host is configured, with mode, owner and content, except those of the
// agent, and the marker that the payload's first boot leaves.
func configuredFiles(ctx context.Context, t *testing.T) []string {
	t.Helper()
	out := mustOutput(ctx, t, `export LC_ALL=C
		find /etc /var/usrlocal -xdev -type l -printf '%p %l\n'
		find /etc /var/usrlocal -xdev -type f -printf '%#m %u:%g ' -exec sha256sum {} \; | sed 's/  / /'`)
	var files []string
	for line := range strings.Lines(out) {
		if !strings.Contains(line, "hcp-node-agent") && !strings.Contains(line, "/etc/ignition-machine-config-encapsulated.json.bak") {
			files = append(files, strings.TrimSpace(line))
		}
	}
	return files
}
