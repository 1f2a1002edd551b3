// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// check checks both clusters before the first change.
func (i *Installer) check(ctx context.Context) error {
	if err := i.checkHosted(ctx); err != nil {
		return err
	}
	objects, err := i.Objects(cluster.Hosted)
	if err != nil {
		return err
	}
	for _, object := range objects {
		if object.GetKind() == "CustomResourceDefinition" {
			if err := checkVersions(ctx, i.Hosted, object); err != nil {
				return err
			}
		}
	}
	if i.Monitoring {
		if err := checkMonitoring(ctx, i.runsIn()); err != nil {
			return err
		}
	}
	if i.In == cluster.Management {
		return i.checkOwner(ctx)
	}
	return nil
}

// checkHosted checks that the hosted cluster is not a management cluster.
func (i *Installer) checkHosted(ctx context.Context) error {
	err := i.Hosted.CheckHosted(ctx, "")
	if report.CodeOf(err) == report.Refused {
		return report.Fail(report.Refused, "# pass the kubeconfig of the hosted cluster with --hosted-kubeconfig",
			"%s is a management cluster, not the cluster of HostedCluster %s", i.Hosted.Server, i.HostedCluster)
	}
	return err
}

// checkVersions returns an error if the API server has a CustomResourceDefinition with other versions, which applying
// the manifest would remove.
func checkVersions(ctx context.Context, hosted *cluster.Cluster, wanted *unstructured.Unstructured) error {
	existing := newObject(wanted.GetAPIVersion(), wanted.GetKind(), "", wanted.GetName())
	exists, err := hosted.Find(ctx, client.ObjectKeyFromObject(existing), existing)
	if err != nil || !exists {
		return err
	}
	has, supported := servedVersions(existing), servedVersions(wanted)
	if has == supported {
		return nil
	}
	return report.Fail(report.Refused, "# use the hcp-node-admin of the release that is installed, or a newer one",
		"%s has CustomResourceDefinition %s with versions %q; this hcp-node-admin supports %q", hosted.Server,
		wanted.GetName(), has, supported)
}

// servedVersions returns the versions of a CustomResourceDefinition, separated by blanks.
func servedVersions(definition *unstructured.Unstructured) string {
	var names []string
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions") // has always this type
	for _, version := range versions {
		fields, _ := version.(map[string]any)
		name, _ := fields["name"].(string)
		if served, _ := fields["served"].(bool); !served {
			name += " (not served)"
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

// checkOwner returns an error if the namespace on the management cluster contains the controller of another
// HostedCluster.
func (i *Installer) checkOwner(ctx context.Context) error {
	owner, err := i.owner(ctx)
	if err != nil || owner == "" || owner == i.HostedCluster.String() {
		return err
	}
	return report.Fail(report.Refused, "# select another namespace with --controller-namespace",
		"namespace %s of the management cluster contains the controller of HostedCluster %s", i.managementNamespace(), owner)
}

// owner returns the HostedCluster of the controller in the namespace on the management cluster, or "".
func (i *Installer) owner(ctx context.Context) (string, error) {
	secret := i.emptySecret()
	_, err := i.Management.Find(ctx, client.ObjectKeyFromObject(secret), secret)
	return secret.GetAnnotations()[hostedClusterAnnotation], err
}

// isForeignNamespace reports whether the namespace on the management cluster exists for another purpose.
func (i *Installer) isForeignNamespace(ctx context.Context) (bool, error) {
	namespace := newObject("v1", "Namespace", "", i.managementNamespace())
	exists, err := i.Management.Find(ctx, client.ObjectKeyFromObject(namespace), namespace)
	return exists && !isOwn(namespace), err
}
