// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Remaining is an object of the hosted cluster that is not removed.
type Remaining struct {
	Kind    string `json:"kind" doc:"kind of the object"`
	Name    string `json:"name" doc:"name of the object"`
	Objects int    `json:"objects,omitempty" doc:"number of objects of a CustomResourceDefinition, or of nodes in the ConfigMap of lost nodes; absent if there are none"`
}

// Count returns the number of objects in words.
func (r Remaining) Count() string {
	kind := "object"
	if r.Kind == lostKind {
		kind = "node"
	}
	if r.Objects == 1 {
		return "1 " + kind
	}
	return fmt.Sprintf("%d %ss", r.Objects, kind)
}

// Uninstall removes what Install creates in both clusters, wherever the controller runs. The
// CustomResourceDefinitions, with their objects, and the Namespace of the hosted cluster remain unless withCRD, as does
// what excludes lost nodes, if there are any. force permits to delete the objects of CustomResourceDefinitions, and the
// list of lost nodes, too. The removal ends with the Secret that names the
// HostedCluster, so that it can be repeated.
func (i *Installer) Uninstall(ctx context.Context, withCRD, force bool) ([]Change, []Remaining, error) {
	if err := i.checkOwner(ctx); err != nil {
		return nil, nil, err
	}
	var remaining []Remaining
	if i.Hosted != nil {
		var err error
		if remaining, err = i.checkRemaining(ctx, withCRD, force); err != nil {
			return nil, nil, err
		}
	}
	if err := i.stopPublishing(ctx); err != nil {
		return i.changes, remaining, err
	}
	for _, from := range []*cluster.Cluster{i.Management, i.Hosted} {
		if from == nil {
			continue
		}
		if err := i.stopMonitoring(ctx, from); err != nil {
			return i.changes, remaining, err
		}
	}
	management, err := Settings{In: cluster.Management, Namespace: i.managementNamespace()}.Objects(cluster.Management)
	if err != nil {
		return i.changes, remaining, err
	}
	if err := i.applierFor(i.Management).deleteAll(ctx, management, isPermanent); err != nil {
		return i.changes, remaining, err
	}
	if i.Hosted != nil {
		if err := i.deletePublished(ctx); err != nil {
			return i.changes, remaining, err
		}
		if err := i.uninstallHosted(ctx, withCRD); err != nil {
			return i.changes, remaining, err
		}
	}
	if err := i.applierFor(i.Management).delete(ctx, i.emptySecret()); err != nil {
		return i.changes, remaining, err
	}
	isForeign, err := i.isForeignNamespace(ctx)
	if err == nil && !isForeign {
		err = i.applierFor(i.Management).delete(ctx, newObject("v1", "Namespace", "", i.managementNamespace()))
	}
	return i.changes, remaining, err
}

// isPermanent reports whether an object can contain objects that this package has not created.
func isPermanent(object *unstructured.Unstructured) bool {
	return slices.Contains([]string{"Namespace", "CustomResourceDefinition"}, object.GetKind())
}

// uninstallHosted removes the objects of the hosted cluster, those of both ways to run the controller.
func (i *Installer) uninstallHosted(ctx context.Context, withCRD bool) error {
	token, err := Settings{In: cluster.Management}.Objects(cluster.Hosted)
	if err != nil {
		return err
	}
	workload, err := Settings{In: cluster.Hosted}.Objects(cluster.Hosted)
	if err != nil {
		return err
	}
	renewals, err := i.renewalObjects()
	if err != nil {
		return err
	}
	remediation, err := readKustomization("deploy/hosted-remediation") // which an administrator has applied
	if err != nil {
		return err
	}
	policy, err := i.removablePolicy(ctx, withCRD)
	if err != nil {
		return err
	}
	all := slices.Concat(token, without(workload, token), renewals, remediation, policy)
	hosted := i.applierFor(i.Hosted)
	if err := hosted.deleteAll(ctx, all, isPermanent); err != nil || !withCRD {
		return err
	}
	return hosted.deleteAll(ctx, all, func(object *unstructured.Unstructured) bool { return !isPermanent(object) })
}

// without returns the objects that are not among others.
func without(objects, others []*unstructured.Unstructured) []*unstructured.Unstructured {
	return slices.DeleteFunc(objects, func(a *unstructured.Unstructured) bool {
		return slices.ContainsFunc(others, func(b *unstructured.Unstructured) bool {
			return a.GroupVersionKind() == b.GroupVersionKind() &&
				client.ObjectKeyFromObject(a) == client.ObjectKeyFromObject(b)
		})
	})
}

// checkRemaining returns what remains in the hosted cluster. With withCRD it returns an error instead if objects would
// be lost that force does not permit to delete.
func (i *Installer) checkRemaining(ctx context.Context, withCRD, force bool) ([]Remaining, error) {
	objects, err := Settings{In: cluster.Management}.Objects(cluster.Hosted)
	if err != nil {
		return nil, err
	}
	var remaining []Remaining
	for _, object := range objects {
		if !isPermanent(object) {
			continue
		}
		one := Remaining{Kind: object.GetKind(), Name: object.GetName()}
		existing := newObject(object.GetAPIVersion(), one.Kind, "", one.Name)
		exists, err := i.Hosted.Find(ctx, client.ObjectKeyFromObject(existing), existing)
		if err != nil {
			return nil, err
		}
		if !exists {
			continue
		}
		if one.Kind == "CustomResourceDefinition" {
			if one.Objects, err = countObjects(ctx, i.Hosted, object); err != nil {
				return nil, err
			}
			if withCRD && !force && one.Objects > 0 {
				return nil, report.Fail(report.Refused, "# delete them first, or add --force: nodes without a NodeEnrollment "+
					"need the approval of an administrator",
					"the hosted cluster has %s of %s, which --crd deletes too", one.Count(), one.Name)
			}
		}
		remaining = append(remaining, one)
	}
	lost, err := i.remainingLost(ctx, withCRD && !force)
	if err != nil {
		return nil, err
	}
	remaining = append(remaining, lost...)
	if withCRD {
		return nil, nil
	}
	return remaining, nil
}

// countObjects returns the number of objects of a CustomResourceDefinition of the manifests.
func countObjects(ctx context.Context, in client.Reader, definition *unstructured.Unstructured) (int, error) {
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	first, _ := versions[0].(map[string]any)
	version, _ := first["name"].(string)
	var list metav1.PartialObjectMetadataList
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: version, Kind: kind + "List"})
	err := in.List(ctx, &list)
	return len(list.Items), err
}
