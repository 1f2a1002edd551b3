//go:build vm

package e2e

import (
	"context"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// TestPackage tests the life cycle with the RPM package: install, run the approver, join, upgrade
// on a running node, a refused removal, leave, remove.
func TestPackage(t *testing.T) {
	ctx := fresh(t)
	bare(ctx, t)
	before := hostState(ctx, t)
	fromRepository(ctx, t, "old")
	t.Log(mustOutput(ctx, t, "dnf -y install hcp-node-agent"))
	wants(t, mustOutput(ctx, t, "rpm -q hcp-node-agent; systemctl is-enabled hcp-node-agent.service hcp-node-agent.path; find /usr/share/man -name 'hcp-node-agent*'"),
		"hcp-node-agent-1.0.0-1", "enabled\nenabled", "/hcp-node-agent.8")
	approverUnit(ctx, t)
	agent(ctx, t, report.Done, joining)

	running := parts(ctx, t)
	fromRepository(ctx, t, "new")
	t.Log(mustOutput(ctx, t, "dnf -y upgrade hcp-node-agent"))
	wants(t, agent(ctx, t, report.Done, "version").Stdout, "1.1.0")
	if now := parts(ctx, t); now != running {
		t.Errorf("an upgrade of the package has touched what runs:\n%s\nnow:\n%s", running, now)
	}
	mustOutput(ctx, t, `for i in $(seq 60); do systemctl is-active -q hcp-node-agent && break; sleep 1; done
		systemctl is-active hcp-node-agent && readlink /proc/$(systemctl show -P MainPID hcp-node-agent)/exe | grep -qx /usr/bin/hcp-node-agent`)
	_, err := stage.RunPod(ctx, "after-the-upgrade")
	must(t, err)

	removal, err := stage.Machine.Run(ctx, "dnf -y remove hcp-node-agent")
	must(t, err)
	t.Log(removal.Stdout + removal.Stderr)
	if removal.ExitCode == 0 {
		t.Error("the package of a node was removed")
	}
	wants(t, removal.Stdout+removal.Stderr, "hcp-node-agent leave")
	wants(t, agent(ctx, t, report.Done, "status").Stdout, "worker-0")
	if now := parts(ctx, t); now != running {
		t.Errorf("a refused removal has touched what runs:\n%s\nnow:\n%s", running, now)
	}

	agent(ctx, t, report.Done, "leave --no-drain")
	t.Log(mustOutput(ctx, t, "dnf -y remove hcp-node-agent"))
	mustOutput(ctx, t, "dnf -y remove distribution; ! find / -xdev -name '*hcp-node-agent*' -not -path '/srv/*' -not -path '/var/log/*' -not -path '/var/cache/*' -not -path '/var/lib/dnf/*' -not -path '/etc/yum.repos.d/*' | grep .")
	mustOutput(ctx, t, "rm /etc/yum.repos.d/hcp-node-agent.repo /var/lib/dnf/history.sqlite*") // dnf's own files
	sameHost(ctx, t, before)
}

// parts returns the processes of a node that no package operation may restart.
func parts(ctx context.Context, t *testing.T) string {
	t.Helper()
	return mustOutput(ctx, t, `for unit in kubelet crio openvswitch ovs-vswitchd NetworkManager; do systemctl show -P MainPID -P ActiveEnterTimestampMonotonic $unit | xargs echo $unit; done
		crictl ps -q | sort; ovs-vsctl list-ports br-ex`)
}
