// SPDX-License-Identifier: Apache-2.0

//go:build vm

package e2e

import (
	"context"
	"net"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
	"github.com/hcp-node-agent/hcp-node-agent/test/nodeimage"
	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
)

const (
	upgradeCommand = "upgrade --user-data " + testenv.UserDataPath
	addedFile      = "/etc/demo.d/upgrade.conf" // in the first payload of upgradeNode, not in the second
	ipUnit         = "apiserver-ip.service"

	containersCommand = "pgrep -x conmon | sort" // prints a process for each running container
)

// upgradeNode upgrades the joined node twice: to changes that need no drain, and to new software with a
// drain. In the second upgrade the agent is killed and the power is cut. Then it upgrades to a payload
// with a unit that does not start, and rolls back.
func upgradeNode(ctx context.Context, t *testing.T, nextImage string) {
	t.Helper()
	payload := currentPayload(ctx, t)
	payload.SetFile(addedFile, "added = yes\n")
	payload.SetFile("/etc/containers/registries.conf",
		fileContent(t, payload, "/etc/containers/registries.conf")+"# changed\n")
	payload.EditUnit(ipUnit, "Description=", "Description=Changed: ")
	serve(ctx, t, payload)
	upgradeWithoutDrain(ctx, t)

	payload.RemoveFile(addedFile)
	payload.SetFile("/etc/kubernetes/kubelet.conf",
		strings.Replace(fileContent(t, payload, "/etc/kubernetes/kubelet.conf"), "containerLogMaxSize: 50Mi",
			"containerLogMaxSize: 40Mi", 1))
	must(t, payload.SetOSImage(nextImage))
	serve(ctx, t, payload)
	upgradeWithDrain(ctx, t)

	payload.EditUnit(ipUnit, "ExecStart=/usr/local/bin/setup-apiserver-ip.sh", "ExecStart=/bin/false")
	serve(ctx, t, payload)
	failed := runAgent(ctx, t, report.Failed, upgradeCommand)
	checkContains(t, failed.Stdout+failed.Stderr, "the upgrade failed; restoring the previous payload and software",
		testenv.NodeName+" is rolled back",
		"the upgrade was rolled back, because it failed", ipUnit)
	checkNode(ctx, t, ipUnit, "setup-apiserver-ip.sh", nodeimage.NextRelease)
	mustOutput(ctx, t, "systemctl is-active "+ipUnit)
}

// upgradeWithoutDrain upgrades to the served payload while a pod runs.
func upgradeWithoutDrain(ctx context.Context, t *testing.T) {
	t.Helper()
	planned := runAgent(ctx, t, report.Success, "plan --user-data "+testenv.UserDataPath)
	checkContains(t, planned.Stdout, "Upgrade (the node is not drained)",
		"reload crio.service: /etc/containers/registries.conf", "restart "+ipUnit)
	refused := runAgent(ctx, t, report.Refused, "join --user-data "+testenv.UserDataPath)
	checkContains(t, refused.Stdout+refused.Stderr, "join does not change the payload of a node, and this one differs in ",
		addedFile, "hcp-node-agent "+upgradeCommand)
	if mustOutput(ctx, t, "ls "+addedFile+" 2>/dev/null || true") != "" {
		t.Error("the refused join has written a file")
	}
	running := mustOutput(ctx, t, containersCommand)
	done := runAgent(ctx, t, report.Success, upgradeCommand)
	checkContains(t, done.Stdout, testenv.NodeName+" is upgraded", "not required by the changes",
		" containers kept running")
	if now := mustOutput(ctx, t, containersCommand); now != running {
		t.Errorf("the containers after the upgrade: %q, before: %q", now, running)
	}
	checkNode(ctx, t, addedFile, "added = yes", nodeimage.FirstRelease)
	checkContains(t, mustOutput(ctx, t, "systemctl show -P Description "+ipUnit), "Changed: ")
}

// upgradeWithDrain stages the upgrade to the served payload, and upgrades. A pod that no controller recreates
// prevents the drain.
func upgradeWithDrain(ctx context.Context, t *testing.T) {
	t.Helper()
	lost := runAgent(ctx, t, report.Refused, upgradeCommand)
	checkContains(t, lost.Stdout+lost.Stderr, "these pods would be lost", "--no-drain")
	if regexp.MustCompile(testenv.StepLine(steps.Stage)).MatchString(lost.Stdout) {
		t.Error("the upgrade that would lose pods has staged the software")
	}
	stageOverBrokenLink(ctx, t)
	runAgent(ctx, t, report.Success, "status") // nothing has changed
	must(t, environment.DeletePods(ctx))

	runUntilOutput(ctx, t, "hcp-node-agent "+upgradeCommand, testenv.StepLine(steps.Packages), func() {
		mustOutput(ctx, t, "systemctl stop hcp-node-agent; pkill -KILL -f '^hcp-node-agent upgrade'")
	})
	status := runAgent(ctx, t, report.Failed, "status")
	checkContains(t, status.Stdout, "the upgrade has not finished")
	refused := runAgent(ctx, t, report.Refused, "join")
	checkContains(t, refused.Stdout+refused.Stderr, "resumes the upgrade")

	if os.Getenv("THOROUGH") != "" {
		must(t, environment.KillUpgrade(ctx, "hcp-node-agent upgrade", t.Logf))
	}
	runUntilOutput(ctx, t, "hcp-node-agent upgrade", testenv.StepLine(steps.System),
		func() { must(t, environment.Machine.Kill(ctx)) })
	must(t, environment.Machine.Boot(ctx))
	must(t, environment.Machine.WaitSSH(ctx))
	await(ctx, t, "journalctl -b -u hcp-node-agent -o cat | grep '"+testenv.NodeName+" is upgraded'")
	t.Log(mustOutput(ctx, t, "journalctl -b --no-pager -o cat -u hcp-node-agent"))
	mustOutput(ctx, t, "journalctl -b -u hcp-node-agent -o cat | grep 'pods could not run for '")
	awaitReadyNode(ctx, t)
	checkNode(ctx, t, "/etc/kubernetes/kubelet.conf", "containerLogMaxSize: 40Mi", nodeimage.NextRelease)
	if mustOutput(ctx, t, "ls "+addedFile+" 2>/dev/null || true") != "" {
		t.Error("a file that the payload does not contain any more still exists")
	}
	_, err := environment.RunPod(ctx, "after-the-upgrade")
	must(t, err)
}

// registryTable is a table of nftables that limits the traffic with the registry.
const registryTable = "inet hcp_test"

// stageOverBrokenLink stages the upgrade to the served payload over a slow link that is interrupted ten times, and
// in which the agent is killed once, while a pod runs. Afterwards the registry is unreachable until the next
// boot: the upgrade must not need it. With THOROUGH=1 the link has 256 kbit/s.
func stageOverBrokenLink(ctx context.Context, t *testing.T) {
	t.Helper()
	rate, pause := "1500 kbytes/second", "2"
	if os.Getenv("THOROUGH") != "" {
		rate, pause = "32 kbytes/second", "120"
	}
	_, port, err := net.SplitHostPort(environment.ControlPlane.Registry)
	must(t, err)
	const stage = upgradeCommand + " --stage"
	table := "nft 'add table " + registryTable + "; " +
		"add chain " + registryTable + " slow { type filter hook input priority 0; }; add chain " + registryTable +
		" cut { type filter hook output priority 0; }'; "
	reject := "nft add rule " + registryTable + " cut tcp dport " + port + " reject with tcp reset; "
	mustOutput(ctx, t, table+"nft add rule "+registryTable+" slow tcp sport "+port+" limit rate over "+rate+
		" burst 64 kbytes drop")
	running := mustOutput(ctx, t, containersCommand)

	runUntilOutput(ctx, t, "hcp-node-agent "+stage, "downloading the node layer", func() {
		mustOutput(ctx, t, "pkill -KILL -f '^hcp-node-agent upgrade'")
	})
	mustOutput(ctx, t, "systemd-run --unit=hcp-test-cuts sh -c 'for i in 1 2 3 4 5 6 7 8 9 10; do sleep "+pause+"; "+
		reject+"sleep 1; nft flush chain "+registryTable+" cut; done'")
	began := time.Now()
	staged := runAgent(ctx, t, report.Success, stage)
	t.Logf("staged in %s:\n%s", time.Since(began).Round(time.Second), staged.Stdout)
	checkContains(t, staged.Stdout, "unpacked the software of the OS image",
		"is staged; start it with: hcp-node-agent "+upgradeCommand)
	mustOutput(ctx, t, "systemctl stop hcp-test-cuts; nft flush table "+registryTable+"; "+reject)

	status := runAgent(ctx, t, report.Success, "status")
	checkContains(t, status.Stdout, "staged ", " MB, since ")
	if now := mustOutput(ctx, t, containersCommand); now != running {
		t.Errorf("the containers after staging: %q, before: %q", now, running)
	}
	again := runAgent(ctx, t, report.Success, stage)
	checkContains(t, again.Stdout, "nothing has to be downloaded")
}

// checkNode fails the test unless the node runs the software of a release, has no drift, and a file
// contains a text. A name without a slash is that of a unit.
func checkNode(ctx context.Context, t *testing.T, name, text string, versions map[string]string) {
	t.Helper()
	if !strings.Contains(name, "/") {
		name = "/etc/systemd/system/" + name
	}
	checkContains(t, mustOutput(ctx, t, "cat "+name), text)
	checkContains(t, mustOutput(ctx, t, "cat $(dirname $(readlink -f /usr/bin/kubelet))/../../.files.json"),
		versions["openshift-kubelet"])
	checkContains(t, mustOutput(ctx, t, "readlink /proc/$(systemctl show --property MainPID --value kubelet)/exe"),
		mustOutput(ctx, t, "readlink -f /usr/bin/kubelet"))
	runAgent(ctx, t, report.Success, "status")
}

// serve makes the control plane serve a payload, and copies user data with a new token to the machine.
func serve(ctx context.Context, t *testing.T, payload testenv.Payload) {
	t.Helper()
	must(t, environment.Serve(ctx, payload))
}

// servedPayload returns the payload that the control plane serves.
func servedPayload(t *testing.T) testenv.Payload {
	t.Helper()
	payload, err := environment.Payload()
	must(t, err)
	return payload
}

// currentPayload returns the default payload with the OS image of the joined node.
func currentPayload(ctx context.Context, t *testing.T) testenv.Payload {
	t.Helper()
	image := mustOutput(ctx, t, `grep -o '"image": *"[^"]*"' /var/lib/hcp-node-agent/software.json | cut -d'"' -f4`)
	payload := servedPayload(t)
	must(t, payload.SetOSImage(image))
	return payload
}

// fileContent returns the content of a file of a payload.
func fileContent(t *testing.T, payload testenv.Payload, path string) string {
	t.Helper()
	content, err := payload.File(path)
	must(t, err)
	return content
}
