// SPDX-License-Identifier: Apache-2.0

//go:build vm

package e2e

import (
	"context"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// TestPackageLifeCycle tests the life cycle with the RPM package: install, join, upgrade
// on a running node, a refused removal, leave, remove.
func TestPackageLifeCycle(t *testing.T) {
	ctx := newContext(t)
	removeAgent(ctx, t)
	before := hostState(ctx, t)
	selectVersion(ctx, t, "old")
	t.Log(mustOutput(ctx, t, "dnf -y install hcp-node-agent hcp-node-admin"))
	checkContains(t,
		mustOutput(ctx, t,
			"rpm -q hcp-node-agent hcp-node-admin; systemctl is-enabled hcp-node-agent.service hcp-node-agent.path; find "+
				"/usr/share/man -name 'hcp-node-a*'"),
		"hcp-node-agent-1.0.0-1", "hcp-node-admin-1.0.0-1", "enabled\nenabled", "/hcp-node-agent.8", "/hcp-node-admin.8")
	mustOutput(ctx, t, "oc_plugin=$(kubectl-hcp_node version) && test \"$oc_plugin\" = \"$(hcp-node-admin version)\" && "+
		"hcp-node-admin controller install --in hosted --output yaml | grep -qx 'kind: Deployment'")
	runAgent(ctx, t, report.Success, joinCommand)

	running := nodeProcesses(ctx, t)
	selectVersion(ctx, t, "new")
	t.Log(mustOutput(ctx, t, "dnf -y upgrade hcp-node-agent hcp-node-admin"))
	checkContains(t, runAgent(ctx, t, report.Success, "version").Stdout, "1.1.0")
	if now := nodeProcesses(ctx, t); now != running {
		t.Errorf("an upgrade of the package has changed running processes:\n%s\nnow:\n%s", running, now)
	}
	await(ctx, t, "systemctl is-active hcp-node-agent")
	mustOutput(ctx, t, `readlink /proc/$(systemctl show -P MainPID hcp-node-agent)/exe | grep -qx /usr/bin/hcp-node-agent`)
	_, err := environment.RunPod(ctx, "after-the-upgrade")
	must(t, err)

	removal, err := environment.Machine.Run(ctx, "dnf -y remove hcp-node-agent")
	must(t, err)
	t.Log(removal.Stdout + removal.Stderr)
	if removal.ExitCode == 0 {
		t.Error("the package of a node was removed")
	}
	checkContains(t, removal.Stdout+removal.Stderr, "hcp-node-agent leave")
	checkContains(t, runAgent(ctx, t, report.Success, "status").Stdout, "worker-0")
	if now := nodeProcesses(ctx, t); now != running {
		t.Errorf("a refused removal has changed running processes:\n%s\nnow:\n%s", running, now)
	}

	runAgent(ctx, t, report.Success, "leave --no-drain")
	t.Log(mustOutput(ctx, t, "dnf -y remove hcp-node-agent hcp-node-admin"))
	mustOutput(ctx, t,
		"dnf -y remove distribution; ! find / -xdev -name '*hcp-node-a[gd]*' -not -path '/srv/*' -not -path '/var/log/*' "+
			"-not -path '/var/cache/*' -not -path '/var/lib/dnf/*' -not -path '/etc/yum.repos.d/*' | grep .")
	mustOutput(ctx, t, "rm /etc/yum.repos.d/hcp-node-agent.repo /var/lib/dnf/history.sqlite*") // dnf's own files
	checkHostState(ctx, t, before)
}

// nodeProcesses returns the processes of a node that no package operation may restart.
func nodeProcesses(ctx context.Context, t *testing.T) string {
	t.Helper()
	return mustOutput(ctx, t, `for unit in kubelet crio openvswitch ovs-vswitchd NetworkManager; do
			systemctl show -P MainPID -P ActiveEnterTimestampMonotonic $unit | xargs echo $unit
		done
		crictl ps -q | sort; ovs-vsctl list-ports br-ex`)
}
