// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// CheckHosted returns an error if the cluster is a management cluster. The nodes of a NodePool never join it, and an
// approval there would admit hosts to the cluster that runs the control planes. note is added to the message.
func (c *Cluster) CheckHosted(ctx context.Context, note string) error {
	isManagement, err := c.Serves(ctx, hyperShiftGroup)
	switch {
	case apierrors.IsForbidden(err): // ClusterRole system:discovery, which can be removed
		return nil
	case err != nil:
		return err
	case !isManagement:
		return nil
	}
	return c.isManagement(ctx, note)
}

// CheckApproval returns an error if the cluster is a management cluster, unless allowManagement permits to approve its
// nodes.
func (c *Cluster) CheckApproval(ctx context.Context, allowManagement bool) error {
	if allowManagement {
		return nil
	}
	return c.CheckHosted(ctx, " (--allow-management-cluster approves nodes of the management cluster itself)")
}

// isManagement returns the error for a management cluster in place of a hosted cluster. It lists the HostedClusters if
// the credential permits it.
func (c *Cluster) isManagement(ctx context.Context, note string) error {
	message := c.Server + " is a management cluster, not a hosted cluster" + note
	if c.Command == "" {
		return report.Fail(report.Refused, "# use the kubeconfig of the hosted cluster:\n"+kube.AdminKubeconfigCommand,
			"%s", message)
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{
		Group: hyperShiftGroup, Version: "v1beta1", Kind: "HostedClusterList",
	})
	var names []string
	if c.List(ctx, list) == nil { // usually with the permission
		for i := range list.Items {
			names = append(names, list.Items[i].Namespace+"/"+list.Items[i].Name)
		}
	}
	namespace, name := "NAMESPACE", "NAME"
	if len(names) > 0 {
		message += "; its HostedClusters: " + report.AbbreviateList(names)
	}
	if len(names) == 1 {
		namespace, name, _ = strings.Cut(names[0], "/")
	}
	return report.Fail(report.Refused, report.Remedyf("%s --namespace %s --hosted-cluster %s", c.Command, namespace, name),
		"%s", message)
}

// CheckEnrollmentAPI returns an error if the cluster does not serve the API of NodeEnrollment.
func (c *Cluster) CheckEnrollmentAPI(ctx context.Context) error {
	version := v1alpha1.GroupVersion
	isServed, err := c.Serves(ctx, version.Group, version.Version)
	switch {
	case err != nil:
		return err
	case !isServed:
		return c.withoutAPI(version.String())
	}
	return nil
}
