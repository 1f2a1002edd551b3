// SPDX-License-Identifier: Apache-2.0

//go:build vm

package e2e

import (
	"bytes"
	"context"
	"testing"
)

// startApproverUnit starts the packaged approver as described in docs/run-approver.md, with
// enrollments in a directory that only root can read. A cleanup removes everything it creates.
func startApproverUnit(ctx context.Context, t *testing.T) {
	t.Helper()
	createUsageRecords(ctx, t)
	kubeconfig, err := environment.NodeSideKubeconfig(environment.ControlPlane.Kubeconfig)
	must(t, err)
	must(t, environment.Machine.Put(ctx, "/etc/hcp-node-admin/approver.kubeconfig", bytes.NewReader(kubeconfig), 0o600))

	if result, err := environment.Machine.Run(ctx, "systemctl start hcp-node-admin-approver"); err != nil ||
		result.ExitCode == 0 {
		t.Errorf("the approver starts without a directory of enrollments (%v)", err)
	}
	mustOutput(ctx, t, `set -e
		install -d -m 0755 /etc/hcp-node-admin/enrollments; mkdir -m 0700 /root/tokens
		for node in worker-8 worker-9; do
			hcp-node-admin enroll --offline workers $node=192.0.2.109 --output-dir /root/tokens \
				--hosted-kubeconfig /etc/hcp-node-admin/approver.kubeconfig
		done
		install -m 0644 -t /etc/hcp-node-admin/enrollments /root/tokens/enrollments/worker-8.yaml
		stat -c '%a %U' /etc/hcp-node-admin | grep -qx '700 root'
		timeout 240 systemctl start hcp-node-admin-approver || { journalctl -u hcp-node-admin-approver -o cat >&2; false; }`)
	await(ctx, t,
		"systemctl is-active hcp-node-admin-approver && "+
			"systemctl show -P StatusText hcp-node-admin-approver | grep '^enrollments: 1;'")
	mustOutput(ctx, t, "install -m 0644 -t /etc/hcp-node-admin/enrollments /root/tokens/enrollments/worker-9.yaml")
	await(ctx, t, "systemctl show -P StatusText hcp-node-admin-approver | grep '^enrollments: 2;'")

	mustOutput(ctx, t, `set -e
		test "$(stat -c %u /proc/$(systemctl show -P MainPID hcp-node-admin-approver))" != 0
		for path in /etc/hcp-node-admin/enrollments /run/hcp-node-admin-approver/enrollments; do
			if setpriv --reuid nobody --clear-groups cat $path/worker-8.yaml; then
				echo "all users can read $path" >&2; exit 1
			fi
		done
		systemctl stop hcp-node-admin-approver
		rm -r /root/tokens /etc/hcp-node-admin/enrollments /etc/hcp-node-admin/approver.kubeconfig`)
}
