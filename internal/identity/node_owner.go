// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// errForeignNode means that the Node belongs to another host.
var errForeignNode = errors.New("another machine already uses this Node name")

// checkOwner fails if the Node belongs to another host: two kubelets with one name
// would remove each other's pods. A Node without a machine ID was never
// reported by a kubelet and is accepted. With fresh, an existing Node of this
// host is logged.
func (i *Identity) checkOwner(ctx context.Context, connection *kube.Conn, node *corev1.Node, fresh bool) error {
	machineID := node.Status.NodeInfo.MachineID
	switch {
	case i.MachineID == "" || machineID == "":
		return nil
	case strings.EqualFold(machineID, i.MachineID):
		if fresh {
			i.Log.Note(fmt.Sprintf("Node %s, created at %s, belongs to this machine (machine-id %s) and is kept",
				node.Name, report.Timestamp(node.CreationTimestamp.Time), machineID))
		}
		return nil
	}
	return foreignNodeError(node, i.MachineID, lastHeartbeat(node, leaseRenewTime(ctx, connection, node.Name)))
}

// foreignNodeError returns the error for a Node that belongs to another host.
func foreignNodeError(node *corev1.Node, machineID string, heartbeat time.Time) error {
	lastReport := "it has never reported to the cluster"
	if !heartbeat.IsZero() {
		lastReport = "it last reported to the cluster at " + report.Timestamp(heartbeat)
	}
	state := "not Ready"
	if kube.IsReady(node) {
		state = "Ready"
	}
	return report.Fail(report.Refused,
		report.Remedy("hostnamectl set-hostname ANOTHER-NAME # then run join again\n# or, if the other machine no "+
			"longer exists, run on the hosted cluster before the next join:\noc delete node "+node.Name),
		"%w: the machine-id of Node %s is %s, this machine's is %s; %s, %s",
		errForeignNode, node.Name, node.Status.NodeInfo.MachineID, machineID, lastReport, state)
}

// leaseRenewTime returns when kubelet last renewed its lease, or zero if that is
// unknown. kubelet renews the lease every ten seconds, and reports its status
// every five minutes.
func leaseRenewTime(ctx context.Context, a *kube.Conn, name string) time.Time {
	lease, err := a.Client.Leases(corev1.NamespaceNodeLease).Get(ctx, name)
	if err != nil || lease.Spec.RenewTime == nil {
		return time.Time{} // the conditions of the Node are used instead
	}
	return lease.Spec.RenewTime.Time
}

// lastHeartbeat returns the latest heartbeat of a Node's kubelet.
func lastHeartbeat(node *corev1.Node, lease time.Time) time.Time {
	for _, condition := range node.Status.Conditions {
		if condition.LastHeartbeatTime.After(lease) {
			lease = condition.LastHeartbeatTime.Time
		}
	}
	return lease
}
