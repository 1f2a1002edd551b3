// SPDX-License-Identifier: Apache-2.0

//go:build vm

package e2e

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
	"github.com/hcp-node-agent/hcp-node-agent/test/nodeimage"
	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
)

//go:embed testdata/harden.sh
var hardenScript string

// TestHardenedHost joins a hardened host with the software of the OS image, partly from a shell and partly by the
// service, reboots the node, and leaves: docs/hardened-hosts.md.
func TestHardenedHost(t *testing.T) {
	ctx := newContext(t)
	source := nodeimage.MoveFiles(ctx, t, environment.Machine)
	must(t, environment.ControlPlane.ReplacePayload(ctx,
		payloadWithOSImage(t, nodeimage.Push(t, environment.ControlPlane, source, nodeimage.FirstRelease))))
	code, err := environment.Machine.RunStream(ctx, "bash", strings.NewReader(hardenScript), nil, os.Stderr)
	if err != nil || code != 0 {
		t.Fatalf("hardening the host: exit code %d, %v", code, err)
	}
	must(t, environment.Machine.Reboot(ctx))
	checkHardened(ctx, t)
	checkLogins(ctx, t, uplinkAddress(ctx, t))
	before, sysctls := hostState(ctx, t), mustOutput(ctx, t, hardenedSysctls)

	runAgent(ctx, t, report.Success, "preflight --user-data "+testenv.UserDataPath)
	out := runUntilOutput(ctx, t, "hcp-node-agent "+joinByUserData, testenv.StepLine(steps.Network), func() {
		mustOutput(ctx, t, "pkill -KILL -x hcp-node-agent")
	})
	t.Logf("killed:\n%s", out)
	mustOutput(ctx, t, "systemctl start --no-block hcp-node-agent")
	approveCSRs(ctx, t)
	awaitReadyNode(ctx, t)
	await(ctx, t, "systemctl is-active hcp-node-agent")
	t.Log(mustOutput(ctx, t, "journalctl -b --no-pager -o cat -u hcp-node-agent"))
	_, err = environment.RunPod(ctx, "hardened")
	must(t, err)
	checkModes(ctx, t)
	checkLogins(ctx, t, uplinkAddress(ctx, t))
	runAgent(ctx, t, report.Success, "status")

	must(t, environment.Machine.Reboot(ctx))
	awaitReadyNode(ctx, t)
	checkHardened(ctx, t)
	_, err = environment.RunPod(ctx, "after-the-reboot")
	must(t, err)
	checkLogins(ctx, t, uplinkAddress(ctx, t))
	runAgent(ctx, t, report.Success, "status")

	must(t, environment.DeletePods(ctx))
	runAgent(ctx, t, report.Success, "leave")
	checkLogins(ctx, t, uplinkAddress(ctx, t))
	checkHostState(ctx, t, before)
	if diff := cmp.Diff(sysctls, mustOutput(ctx, t, hardenedSysctls)); diff != "" {
		t.Errorf("sysctls (-before +now):\n%s", diff)
	}
}

const hardenedSysctls = "sed -n 's/ = .*//p' /etc/sysctl.d/60-hardening.conf | xargs sysctl"

// checkHardened checks that the hardening is in effect for the shell of the tests.
func checkHardened(ctx context.Context, t *testing.T) {
	t.Helper()
	for command, want := range map[string]string{
		"umask": "0077", "ulimit -Hn": "1024", "sysctl -n net.ipv4.conf.default.rp_filter": "1",
		"modprobe sctp 2>/dev/null || echo refused":                  "refused",
		"systemctl show -P UMask hcp-node-agent":                     "0077",
		"cp /bin/true /tmp/true; /tmp/true 2>/dev/null || echo none": "none",
	} {
		if got := mustOutput(ctx, t, command); got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
	for point, options := range map[string]string{
		"/var": "nosuid,nodev", "/tmp": "nosuid,nodev,noexec", "/var/tmp": "nosuid,nodev,noexec",
		"/var/log": "nosuid,nodev,noexec", "/dev/shm": "nosuid,nodev,noexec", "/run": "nosuid,nodev,noexec",
		"/home": "nosuid,nodev,noexec",
	} {
		if got := mustOutput(ctx, t, "findmnt -n -o VFS-OPTIONS --mountpoint "+point); !strings.Contains(got, options) {
			t.Errorf("%s has the options %s, want %s", point, got, options)
		}
	}
}

// checkLogins checks that the administrator can log in over the uplink, and no other user.
func checkLogins(ctx context.Context, t *testing.T, address string) {
	t.Helper()
	const ssh = "ssh -i /root/admin -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null "
	for user, want := range map[string]string{"admin": "admin", "core": "refused", "root": "refused"} {
		if got := mustOutput(ctx, t, ssh+user+"@"+address+" whoami 2>/dev/null || echo refused"); got != want {
			t.Errorf("ssh %s@%s: %q, want %q", user, address, got, want)
		}
	}
}

// checkModes checks that each file of the payload on the host has the mode of the payload, and that other users can
// read the software of the node and /etc/hosts in pods.
func checkModes(ctx context.Context, t *testing.T) {
	t.Helper()
	modes := map[string]string{}
	for line := range strings.Lines(mustOutput(ctx, t, `jq -r '.storage.files[] | "\(.mode // 420) \(.path)"' `+
		"/var/lib/hcp-node-agent/payload.ign")) {
		var mode int
		var path string
		_, err := fmt.Sscan(line, &mode, &path)
		must(t, err)
		modes[path] = fmt.Sprintf("%o", mode)
	}
	out := mustOutput(ctx, t, "stat -c '%a %n' "+strings.Join(slices.Sorted(maps.Keys(modes)), " ")+" 2>/dev/null || true")
	for line := range strings.Lines(out) {
		mode, path, _ := strings.Cut(strings.TrimSpace(line), " ")
		if mode != modes[path] {
			t.Errorf("%s has the mode %s, want %s", path, mode, modes[path])
		}
	}
	checkContains(t, mustOutput(ctx, t, "runuser -u nobody -- $(readlink -f /usr/bin/kubelet) --version"), "Kubernetes v")
	hosts := mustOutput(ctx, t, "systemctl show -P UMask kubelet; stat -c %a /var/lib/kubelet/pods/*/etc-hosts | sort -u")
	if hosts != "0022\n644" {
		t.Errorf("the umask of kubelet and the modes of /etc/hosts in pods are %q", hosts)
	}
}
