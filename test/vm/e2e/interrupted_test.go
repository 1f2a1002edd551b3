//go:build vm

package e2e

import (
	"os"
	"slices"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/bootstrap"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// sampled are the steps after which the most state must be resumed: a network on br-ex, a service
// that waits for approval, and a client certificate.
var sampled = []string{"network", "runtime", "identity"}

// TestJoinResumesAfterKills kills the join after some of its steps, or with THOROUGH=1 after each
// step.
func TestJoinResumesAfterKills(t *testing.T) {
	ctx := fresh(t)
	before := hostState(ctx, t)
	for _, step := range bootstrap.Steps() {
		if step.Name == "schedulable" {
			break
		}
		if os.Getenv("THOROUGH") == "" && !slices.Contains(sampled, step.Name) {
			continue
		}
		out := untilSaid(ctx, t, "hcp-node-agent "+joining, " "+line(step.Name), func() {
			_, err := stage.Machine.Run(ctx, "kill -9 $(pidof hcp-node-agent)")
			must(t, err)
		})
		t.Logf("killed at %s:\n%s", step.Name, out)
		if step.Name == "runtime" {
			// The unit resumes and waits for approval. The next command must not wait for the
			// unit forever.
			_, err := stage.Machine.Output(ctx, "systemctl start --no-block hcp-node-agent; until journalctl -b -u hcp-node-agent | grep -q 'oc adm certificate approve'; do sleep 1; done")
			must(t, err)
		}
		if step.Name == "identity" {
			wants(t, out, "stopping hcp-node-agent.service, which is joining this host; this command takes over")
		}
	}
	agent(ctx, t, report.Done, joining)
	_, err := stage.RunPod(ctx, "after-kills")
	must(t, err)
	agent(ctx, t, report.Done, "leave --no-drain")
	sameHost(ctx, t, before)
}

func TestRebootInTheMiddleAndLateApproval(t *testing.T) {
	ctx := fresh(t)
	const approve = "oc adm certificate approve node-csr-"
	out := untilSaid(ctx, t, "hcp-node-agent "+byStub, approve, func() {
		// The unit is in the state "activating" until the join is finished.
		must(t, stage.Machine.Restart(ctx))
	})
	wants(t, out, "on platform None nobody approves it by itself")
	// From here on, the unit resumes at boot, and an administrator approves both CSRs. No other
	// command is run.
	approved(ctx, t, 2)
	awaitReadyNode(ctx, t)
	_, err := stage.RunPod(ctx, "resumed")
	must(t, err)
	_, err = stage.Machine.Output(ctx, `
		for i in $(seq 120); do systemctl is-active -q hcp-node-agent && break; sleep 1; done
		systemctl is-active hcp-node-agent && systemctl show -P StatusText hcp-node-agent`)
	must(t, err)
	again := agent(ctx, t, report.Done, "join")
	wants(t, again.Stdout, "nothing was changed")
}

// TestLeaveResumesAfterAPowerCut cuts the power in the first step of leave, for a join in
// progress. The next boot must not resume the join.
func TestLeaveResumesAfterAPowerCut(t *testing.T) {
	ctx := fresh(t)
	before := hostState(ctx, t)
	untilSaid(ctx, t, "hcp-node-agent "+joining, " "+line("host"), func() {
		_, err := stage.Machine.Run(ctx, "kill -9 $(pidof hcp-node-agent); sync")
		must(t, err)
	})
	untilSaid(ctx, t, "hcp-node-agent leave", line("drain"), func() { must(t, stage.Machine.Kill(ctx)) })
	must(t, stage.Machine.Boot(ctx))
	_, err := stage.Machine.WaitBoot(ctx)
	must(t, err)

	await(ctx, t, "systemctl is-failed hcp-node-agent") // it refuses to join and exits
	wants(t, mustOutput(ctx, t, "journalctl -b --no-pager -o cat -u hcp-node-agent"), "a leave of this host began at ")
	wants(t, mustOutput(ctx, t, "hcp-node-agent status || true"), " is leaving NodePool ")
	if joined := mustOutput(ctx, t, "ovs-vsctl --timeout=5 list-br 2>/dev/null; systemctl is-active kubelet || true"); joined != "inactive" {
		t.Errorf("after the boot the host has %q", joined)
	}
	agent(ctx, t, report.Done, "leave")
	if state := mustOutput(ctx, t, "systemctl is-failed hcp-node-agent || true"); state != "inactive" {
		t.Errorf("after the leave the service is %s", state)
	}
	sameHost(ctx, t, before)
}
