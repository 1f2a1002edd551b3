// SPDX-License-Identifier: Apache-2.0

//go:build vm

package e2e

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// joinRunningHost joins a host of RHCOS that was installed without user data of the NodePool and runs another release:
// one command boots the image of the payload, writes what Ignition would have written, and boots once more.
func joinRunningHost(ctx context.Context, t *testing.T, image string) {
	t.Helper()
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
	checkContains(t, runAgent(ctx, t, report.Success, "status").Stdout, "no drift")
	_, err := environment.RunPod(ctx, "running")
	must(t, err)
	must(t, environment.DeletePods(ctx))
}

// checkSameFiles checks that a host has the same files as another one, which Ignition has provisioned.
func checkSameFiles(t *testing.T, provisioned, joined map[string]string) {
	t.Helper()
	for path, is := range joined {
		if was := provisioned[path]; was != is {
			t.Errorf("%s is %q, on a provisioned host %q", path, is, was)
		}
	}
	for path, was := range provisioned {
		if _, exists := joined[path]; !exists {
			t.Errorf("%s does not exist, on a provisioned host it is %q", path, was)
		}
	}
}

// configuredFiles returns the files with which a host is configured, with mode, owner and content by path. It omits the
// agent's own files and lines, what Ignition and the first boot report, a random ID of Open vSwitch, and accounts:
// Debian has no user core, which Ignition creates.
func configuredFiles(ctx context.Context, t *testing.T) map[string]string {
	t.Helper()
	out := mustOutput(ctx, t, `export LC_ALL=C
		find /etc /var/usrlocal -xdev -type l -printf '%p %l\n'
		find /etc /var/usrlocal -xdev -type f -printf '%p %#m %u:%g ' \
			-exec sh -c 'grep -av hcp-node-agent "$1" | sha256sum | cut -d" " -f1' sh {} \;`)
	isOther := regexp.MustCompile(`hcp-node-agent|/\.ignition-result\.json|encapsulated\.json\.bak|/system-id\.conf` +
		`|/etc/(passwd|group|shadow|gshadow|subuid|subgid)-?$`)
	files := map[string]string{}
	for line := range strings.Lines(out) {
		path, attributes, _ := strings.Cut(strings.TrimSpace(line), " ")
		if !isOther.MatchString(path) {
			files[path] = attributes
		}
	}
	return files
}
