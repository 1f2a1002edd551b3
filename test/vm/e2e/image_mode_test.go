// SPDX-License-Identifier: Apache-2.0

//go:build vm

package e2e

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
)

// TestOwnImage tests the life of a bootc host whose own image contains the software of a node: refusals that change
// nothing, the join, a maintenance that reboots into a staged deployment, after one that a power cut has ended, a new
// payload, a rollback of the image by an administrator, and leave.
func TestOwnImage(t *testing.T) {
	ctx := newContext(t)
	before := stateBesideImages(ctx, t)
	refused := runAgent(ctx, t, report.Usage, joinCommand+" --software image")
	checkContains(t, refused.Stdout+refused.Stderr, "this host is in image mode")
	mustOutput(ctx, t, "ostree admin unlock")
	refused = runAgent(ctx, t, report.Refused, joinCommand)
	checkContains(t, refused.Stdout+refused.Stderr, "/usr is unlocked")
	mustOutput(ctx, t, "umount --lazy /usr")
	if diff := cmp.Diff(before, stateBesideImages(ctx, t)); diff != "" {
		t.Errorf("the refused joins changed the host (-before +now):\n%s", diff)
	}

	runAgent(ctx, t, report.Success, joinCommand)
	_, err := environment.RunPod(ctx, "first")
	must(t, err)
	checkContains(t, runAgent(ctx, t, report.Success, "status").Stdout, "\n  image           ")
	checkNoSecrets(ctx, t)
	// The remedies for hosts in image mode; a host in package mode does not have these programs.
	mustOutput(ctx, t, `bootc status && bootc status --format=json --format-version=1 && rpm-ostree status &&
		df -h /boot && journalctl -b --no-pager -u ostree-boot-complete.service`)
	must(t, environment.DeletePods(ctx))

	stageDeployment(ctx, t)
	maintain(ctx, t, func() { // the staged deployment is in /run until the host shuts down
		must(t, environment.Machine.Kill(ctx))
	})
	must(t, environment.Machine.Boot(ctx))
	awaitMaintenance(ctx, t)
	checkContains(t, mustOutput(ctx, t, "journalctl -b --no-pager -o cat -u hcp-node-agent"),
		"the reboot did not start the staged deployment")
	stageDeployment(ctx, t)
	must(t, environment.Machine.RestartBy(ctx, func() error { maintain(ctx, t, func() {}); return nil }))
	awaitMaintenance(ctx, t)
	checkContains(t, mustOutput(ctx, t, "cat /proc/cmdline"), " of-the-administrator=1")
	status := runAgent(ctx, t, report.Success, "status").Stdout
	checkContains(t, status, "\n  previous image  ", "no drift")
	if strings.Contains(status, "next boot") {
		t.Errorf("a deployment is still pending:\n%s", status)
	}
	_, err = environment.RunPod(ctx, "second")
	must(t, err)

	must(t, environment.DeletePods(ctx))
	testRolledBackImage(ctx, t)
	runAgent(ctx, t, report.Success, "leave")
	if diff := cmp.Diff(before, stateBesideImages(ctx, t)); diff != "" {
		t.Errorf("the host is not restored (-before +now):\n%s", diff)
	}
}

// TestKernelArgumentsOfAnImage joins a bootc host that needs a kernel argument of the payload: the agent sets it in a
// staged deployment and reboots, the service resumes the join, and leave removes the argument.
func TestKernelArgumentsOfAnImage(t *testing.T) {
	ctx := newContext(t)
	writeConsoleConfig(ctx, t)
	must(t, environment.Machine.RestartBy(ctx, func() error {
		runUntilOutput(ctx, t, "hcp-node-agent "+joinByUserData+" --apply-host-settings=reboot"+
			" --ignition-override "+consoleConfig,
			"rebooting the host with the kernel arguments", func() {})
		return nil
	}))
	checkArguments(ctx, t)
	approveCSRs(ctx, t)
	awaitReadyNode(ctx, t)
	await(ctx, t, "systemctl is-active hcp-node-agent") // the join is complete
	checkContains(t, runAgent(ctx, t, report.Success, "status").Stdout, "no drift")

	left := runAgent(ctx, t, report.Success, "leave --no-drain")
	checkContains(t, left.Stdout, "the running kernel keeps its arguments until the next boot: psi=0")
	must(t, environment.Machine.Reboot(ctx))
	checkNoArguments(ctx, t)
}

// testRolledBackImage upgrades the node to another payload, and boots the deployment before it, whose /etc has the
// files of the former payload. The agent reports that, and writes nothing before the administrator decides.
func testRolledBackImage(ctx context.Context, t *testing.T) {
	t.Helper()
	payload := currentPayload(ctx, t)
	payload.SetFile(addedFile, "added = yes\n")
	serve(ctx, t, payload)
	runAgent(ctx, t, report.Success, upgradeCommand)
	mustOutput(ctx, t, "bootc rollback")
	must(t, environment.Machine.Reboot(ctx))
	awaitReadyNode(ctx, t)
	awaitLog(ctx, t, "rolled back to a deployment whose /etc is from before")
	checkContains(t, runAgent(ctx, t, report.DriftFound, "status").Stdout, addedFile, "rolled back to a deployment")
	if mustOutput(ctx, t, "ls "+addedFile+" 2>/dev/null || true") != "" {
		t.Error("the agent has changed the /etc of the former deployment by itself")
	}
	runAgent(ctx, t, report.Success, "join")
	mustOutput(ctx, t, "cat "+addedFile)
	checkContains(t, runAgent(ctx, t, report.Success, "status").Stdout, "no drift")
}

// stateBesideImages returns the state of the host without that of its deployments: the boot entries, and the services
// that systemd starts once in each of them.
func stateBesideImages(ctx context.Context, t *testing.T) []string {
	t.Helper()
	once := strings.Fields(mustOutput(ctx, t,
		"cd /usr/lib/systemd/system && grep -l ^ConditionNeedsUpdate= *.service"))
	return slices.DeleteFunc(hostState(ctx, t), func(line string) bool {
		fields := strings.Fields(line)
		return strings.HasPrefix(line, "file /boot/loader") ||
			(len(fields) > 1 && fields[0] == "service" && slices.Contains(once, fields[1]))
	})
}

// stageDeployment stages another deployment of the image, with a kernel argument of the administrator.
func stageDeployment(ctx context.Context, t *testing.T) {
	t.Helper()
	mustOutput(ctx, t, "rpm-ostree kargs --append=of-the-administrator=1")
	checkContains(t, runAgent(ctx, t, report.Success, "status").Stdout, "\n  next boot       ")
}

// maintain runs a maintenance, and calls then when the agent begins to reboot the host.
func maintain(ctx context.Context, t *testing.T, then func()) {
	t.Helper()
	runUntilOutput(ctx, t, "hcp-node-agent maintenance",
		"rebooting the host to run the installed update of the image", then)
}

// awaitMaintenance waits until the service has completed the maintenance after the boot, and the node is schedulable.
func awaitMaintenance(ctx context.Context, t *testing.T) {
	t.Helper()
	must(t, environment.Machine.WaitSSH(ctx))
	await(ctx, t, "journalctl -b -u hcp-node-agent -o cat | grep 'the maintenance of "+testenv.NodeName+" is complete'")
	awaitReadyNode(ctx, t)
	if isCordoned(ctx, t) {
		t.Error("the node is still cordoned")
	}
}
