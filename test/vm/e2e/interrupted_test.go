// SPDX-License-Identifier: Apache-2.0

//go:build vm

package e2e

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/bootstrap"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
)

// sampledSteps are the steps after which the most state must be resumed: a network on br-ex, a service
// that waits for approval, and a client certificate.
var sampledSteps = []string{steps.Network, steps.Runtime, steps.ClientCertificate}

// TestJoinResumesAfterKills kills the join after some of its steps, or with THOROUGH=1 after each
// step.
func TestJoinResumesAfterKills(t *testing.T) {
	ctx := newContext(t)
	before := hostState(ctx, t)
	for _, step := range bootstrap.Steps() {
		if step.Name == "schedulable" {
			break
		}
		if os.Getenv("THOROUGH") == "" && !slices.Contains(sampledSteps, step.Name) {
			continue
		}
		out := runUntilOutput(ctx, t, "hcp-node-agent "+joinCommand, testenv.StepLine(step.Name), func() {
			_, err := environment.Machine.Run(ctx, "kill -9 $(pidof hcp-node-agent)")
			must(t, err)
		})
		t.Logf("killed at %s:\n%s", step.Name, out)
		if step.Name == "runtime" {
			// The unit resumes and waits for approval. The next command must not wait for the
			// unit forever.
			_, err := environment.Machine.Output(ctx,
				"systemctl start --no-block hcp-node-agent; until journalctl -b -u hcp-node-agent | grep -q 'oc adm certificate "+
					"approve'; do sleep 1; done")
			must(t, err)
		}
		if step.Name == steps.ClientCertificate {
			checkContains(t, out, "stopping hcp-node-agent.service, which is joining this host, before running this command")
		}
	}
	runAgent(ctx, t, report.Success, joinCommand)
	_, err := environment.RunPod(ctx, "after-kills")
	must(t, err)
	runAgent(ctx, t, report.Success, "leave --no-drain")
	checkHostState(ctx, t, before)
}

// TestJoinResumesAfterRebootAndLateApproval joins a host that needs other kernel arguments, which the
// agent sets with a reboot before it changes anything else. The power is cut during the migration to
// br-ex, and the machine is rebooted again while the join waits.
func TestJoinResumesAfterRebootAndLateApproval(t *testing.T) {
	ctx := newContext(t)
	mustOutput(ctx, t, "update-grub") // as the installation of a host does
	before := hostState(ctx, t)
	rebootForKernelArguments(ctx, t)
	// From here on, the unit resumes at boot, and an administrator approves both CSRs. No other
	// command is run.
	cutPowerDuringMigration(ctx, t)
	await(ctx, t, "journalctl -b -u hcp-node-agent -o cat | grep 'oc adm certificate approve node-csr-'")
	checkContains(t, mustOutput(ctx, t, "journalctl -b -u hcp-node-agent -o cat"),
		"on platform None no controller approves it")
	// The unit is in the state "activating" until the join is finished.
	must(t, environment.Machine.Restart(ctx))
	approveCSRs(ctx, t)
	awaitReadyNode(ctx, t)
	_, err := environment.RunPod(ctx, "resumed")
	must(t, err)
	await(ctx, t, "systemctl is-active hcp-node-agent && systemctl show -P StatusText hcp-node-agent")
	again := runAgent(ctx, t, report.Success, "join")
	checkContains(t, again.Stdout, "nothing was changed")
	runAgent(ctx, t, report.Success, "status")

	left := runAgent(ctx, t, report.Success, "leave --no-drain")
	checkContains(t, left.Stdout, "the running kernel keeps its arguments until the next boot: psi=0")
	must(t, environment.Machine.RebootByGRUB(ctx, func() error { return requestReboot(ctx) }))
	_, err = environment.Machine.WaitBoot(ctx)
	must(t, err)
	checkNoArguments(ctx, t)
	checkHostState(ctx, t, before)
}

// rebootForKernelArguments joins a host that was not booted with psi=0, an argument of the payload. The
// agent reboots it, and has then changed nothing but the configuration of the boot loader.
func rebootForKernelArguments(ctx context.Context, t *testing.T) {
	t.Helper()
	writeConsoleConfig(ctx, t)
	const settings = " --apply-host-settings --ignition-override " + consoleConfig
	planned := runAgent(ctx, t, report.Success, "plan --user-data "+testenv.UserDataPath+settings)
	checkContains(t, planned.Stdout, "Host settings", "boot loader", "psi=0", console, "join runs systemctl daemon-reexec")
	const filesOfEtc = "find /etc -type f ! -path /etc/default/grub -exec sha256sum {} + | sort -k2"
	files := mustOutput(ctx, t, filesOfEtc)
	stopped := runAgent(ctx, t, report.RebootNeeded, joinByUserData+settings)
	checkContains(t, stopped.Stdout+stopped.Stderr, "the host must be rebooted before the join continues",
		"systemctl reboot", "hcp-node-agent.service then resumes the join")
	if now := mustOutput(ctx, t, filesOfEtc); now != files {
		t.Errorf("files in /etc before the reboot:\n%s\nwant\n%s", now, files)
	}
	must(t, environment.Machine.RebootByGRUB(ctx, func() error {
		out := runUntilOutput(ctx, t, "hcp-node-agent join --apply-host-settings=reboot",
			"rebooting the host with the kernel arguments", func() {})
		t.Logf("reboot:\n%s", out)
		return nil
	}))
	must(t, environment.Machine.WaitSSH(ctx)) // the unit of the agent is still starting
	checkArguments(ctx, t)
}

// cutPowerDuringMigration cuts the power while the service attaches the uplink to br-ex, and boots. The NIC
// is in the bridge by then, but no profile of br-ex is saved.
func cutPowerDuringMigration(ctx context.Context, t *testing.T) {
	t.Helper()
	runUntilOutput(ctx, t, "journalctl --boot --follow --lines all --output cat --unit hcp-node-agent",
		"waiting for the new profile of",
		func() { must(t, environment.Machine.Kill(ctx)) })
	must(t, environment.Machine.Boot(ctx))
	must(t, environment.Machine.WaitSSH(ctx))
}

// console is an argument of a NodePool whose key the host's own arguments have, too.
const console = "console=hvc9"

// consoleConfig is a file of the machine with a config that adds the argument.
const consoleConfig = "/root/console.ign"

func writeConsoleConfig(ctx context.Context, t *testing.T) {
	t.Helper()
	mustOutput(ctx, t, `echo '{"ignition": {"version": "3.6.0"}, "kernelArguments": {"shouldExist": ["`+console+
		`"]}}' >`+consoleConfig)
}

// checkArguments removes the file, and checks that the running kernel has the arguments of the payload, and beside
// them those of the host with the same key: without its own console or volume, a host is lost.
func checkArguments(ctx context.Context, t *testing.T) {
	t.Helper()
	mustOutput(ctx, t, "rm "+consoleConfig)
	all := mustOutput(ctx, t, "cat /proc/cmdline")
	ofHost, _, _ := strings.Cut(all, " ostree=") // the machine adds its own behind those of a deployment
	consoles := regexp.MustCompile(`\bconsole=\S*`).FindAllString(ofHost, -1)
	if !hasArgument(ctx, t) || strings.Count(all, " console=") < 2 || len(consoles) == 0 ||
		consoles[len(consoles)-1] != console {
		t.Errorf("the host was not booted with psi=0 and %s after its own consoles: %s", console, all)
	}
}

// hasArgument reports whether the running kernel has the kernel argument of the payload.
func hasArgument(ctx context.Context, t *testing.T) bool {
	t.Helper()
	return mustOutput(ctx, t, "grep -cw psi=0 /proc/cmdline || true") == "1"
}

// checkNoArguments checks that the running kernel has no argument of the payload.
func checkNoArguments(ctx context.Context, t *testing.T) {
	t.Helper()
	left := mustOutput(ctx, t, "grep -ow -e psi=0 -e "+console+" /proc/cmdline || true")
	if left != "" {
		t.Errorf("after the leave and a reboot these kernel arguments are still set: %s", left)
	}
}

func requestReboot(ctx context.Context) error {
	_, err := environment.Machine.Output(ctx, "systemctl --no-block reboot")
	return err
}

// TestLeaveResumesAfterAPowerCut cuts the power in the first step of leave, for a join in
// progress. The next boot must not resume the join.
func TestLeaveResumesAfterAPowerCut(t *testing.T) {
	ctx := newContext(t)
	before := hostState(ctx, t)
	runUntilOutput(ctx, t, "hcp-node-agent "+joinCommand, testenv.StepLine(steps.System), func() {
		_, err := environment.Machine.Run(ctx, "kill -9 $(pidof hcp-node-agent); sync")
		must(t, err)
	})
	runUntilOutput(ctx, t, "hcp-node-agent leave", testenv.StepLine("drain"),
		func() { must(t, environment.Machine.Kill(ctx)) })
	must(t, environment.Machine.Boot(ctx))
	_, err := environment.Machine.WaitBoot(ctx)
	must(t, err)

	await(ctx, t, "systemctl is-failed hcp-node-agent") // it does not join and exits
	checkContains(t, mustOutput(ctx, t, "journalctl -b --no-pager -o cat -u hcp-node-agent"),
		"a leave of this host started at ")
	checkContains(t, mustOutput(ctx, t, "hcp-node-agent status || true"), "the leave has not finished")
	joined := mustOutput(ctx, t,
		"ovs-vsctl --timeout=5 list-br 2>/dev/null; systemctl is-active kubelet || true")
	if joined != "inactive" {
		t.Errorf("after the boot the host has %q", joined)
	}
	runAgent(ctx, t, report.Success, "leave")
	if state := mustOutput(ctx, t, "systemctl is-failed hcp-node-agent || true"); state != "inactive" {
		t.Errorf("after the leave the service is %s", state)
	}
	checkHostState(ctx, t, before)
}
