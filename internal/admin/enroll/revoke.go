// SPDX-License-Identifier: Apache-2.0

package enroll

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Revoked is a node whose enrollment was deleted.
type Revoked struct {
	NodeName   string `json:"nodeName" doc:"name of the node"`
	WasDeleted bool   `json:"deleted" doc:"whether the NodeEnrollment existed and was deleted"`
	NodeExists bool   `json:"nodeExists" doc:"whether the node has joined: its Node exists and remains"`
}

// RevokeAll revokes the join tokens of nodes, and returns what was done, also after an error. It fails if one of the
// nodes has none.
func (c Cluster) RevokeAll(ctx context.Context, nodes []string) ([]Revoked, error) {
	var all []Revoked
	var missing []string
	for _, node := range nodes {
		revoked, err := c.revoke(ctx, node)
		if err != nil {
			return all, err
		}
		all = append(all, revoked)
		if !revoked.WasDeleted {
			missing = append(missing, node)
		}
	}
	if len(missing) > 0 {
		return all, report.Fail(report.Usage, "hcp-node-admin nodes # lists all",
			"no NodeEnrollment exists for %s", strings.Join(missing, ", "))
	}
	return all, nil
}

// revoke deletes the NodeEnrollment and the ServiceAccount of a node, if they exist. A host can then neither join with
// the join token nor get user data with it. A node that has joined remains.
func (c Cluster) revoke(ctx context.Context, node string) (Revoked, error) {
	revoked := Revoked{NodeName: node}
	err := c.Delete(ctx, &v1alpha1.NodeEnrollment{ObjectMeta: metav1.ObjectMeta{Name: node}})
	revoked.WasDeleted = err == nil
	if client.IgnoreNotFound(err) != nil {
		return revoked, err
	}
	// The cluster's garbage collector deletes the ServiceAccount too, but later.
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
		Name: v1alpha1.ServiceAccount(node), Namespace: v1alpha1.Namespace,
	}}
	if err := c.Delete(ctx, account); client.IgnoreNotFound(err) != nil {
		return revoked, err
	}
	revoked.NodeExists, err = c.Find(ctx, client.ObjectKey{Name: node}, &corev1.Node{})
	return revoked, err
}
