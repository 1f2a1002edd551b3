// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// DeleteCommand returns the command that deletes the Node. The node's own
// credential does not allow that.
func DeleteCommand(name string) string { return "oc delete node " + name }

// Deleter deletes this host's Node with the credential of an administrator.
type Deleter struct {
	conn      *kube.Conn
	name      string
	machineID string
	log       report.Log
}

// OpenDeleter returns a Deleter for the Node of the host with the machine ID. It fails if the
// kubeconfig cannot be used, may not delete the Node, or is of a cluster where another host is the
// Node of this name.
func OpenDeleter(ctx context.Context, kubeconfig []byte, name, machineID string, log report.Log) (*Deleter, error) {
	config, err := kube.ParseKubeconfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	connection, err := kube.Connect(config, nil)
	if err != nil {
		return nil, err
	}
	d := &Deleter{conn: connection, name: name, machineID: machineID, log: log}
	if _, err := d.uid(ctx); err != nil {
		return nil, err
	}
	right := authorizationv1.ResourceAttributes{Verb: "delete", Resource: "nodes", Name: name}
	allowed, err := kube.Fetch(ctx, connection, log, "checking the permission to delete Node "+name,
		func() (bool, error) { return connection.Client.Allowed(ctx, right) })
	if err != nil {
		return nil, err
	}
	if !allowed {
		return nil, report.Fail(report.Refused, "# use a kubeconfig that may delete Nodes",
			"the kubeconfig may not delete Node %s", name)
	}
	return d, nil
}

// Delete deletes the Node. A Node that does not exist is no error.
func (d *Deleter) Delete(ctx context.Context) error {
	uid, err := d.uid(ctx)
	if err != nil || uid == "" {
		return err
	}
	options := metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(uid)}
	return d.conn.Retry(ctx, d.log, "deleting Node "+d.name, func() error {
		err := d.conn.Client.Nodes().Delete(ctx, d.name, options)
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // deleted, or replaced by another Node of this name
			return nil
		}
		return err
	})
}

// uid returns the UID of the Node, "" if the Node does not exist. It fails if the Node is that of
// another host.
func (d *Deleter) uid(ctx context.Context) (string, error) {
	node, err := kube.Fetch(ctx, d.conn, d.log, "getting Node "+d.name,
		func() (*corev1.Node, error) { return d.conn.Client.Nodes().Find(ctx, d.name) })
	if err != nil || node == nil {
		return "", err
	}
	if kube.IsOtherMachine(node, d.machineID) {
		return "", report.Fail(report.Refused, "# use the kubeconfig of the cluster that this host has joined",
			"Node %s belongs to another host (machine-id %s, this host's is %s)", d.name,
			node.Status.NodeInfo.MachineID, d.machineID)
	}
	return string(node.UID), nil
}
