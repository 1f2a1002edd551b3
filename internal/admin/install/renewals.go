// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
)

// renewalObjects returns the permission of all nodes to get the pull secret, the additional CAs and the URL of the API
// server of the hosted cluster. They are not among Objects, because a cluster without OpenShift does not have their
// namespace.
func (s Settings) renewalObjects() ([]*unstructured.Unstructured, error) {
	return s.read(cluster.Hosted, "hosted-renewals")
}

// permitRenewals applies the permission of the nodes, if the hosted cluster has its namespace.
func (i *Installer) permitRenewals(ctx context.Context) error {
	objects, err := i.renewalObjects()
	if err != nil {
		return err
	}
	exists, err := i.Hosted.Find(ctx, client.ObjectKey{Name: objects[0].GetNamespace()}, &corev1.Namespace{})
	if err != nil || !exists {
		return err
	}
	return i.applierFor(i.Hosted).applyAll(ctx, objects)
}
