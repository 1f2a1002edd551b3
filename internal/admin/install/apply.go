// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/schema"
)

// fieldManager owns the fields that this package applies.
const fieldManager = "hcp-node-admin"

// Result names the effect of a run on an object.
type Result string

// The results.
const (
	Created    Result = "created"
	Configured Result = "configured"
	Unchanged  Result = "unchanged"
	Deleted    Result = "deleted"
)

// Enum returns all results.
func (Result) Enum() []string { return schema.Strings(Created, Configured, Unchanged, Deleted) }

// Change describes the effect of a run on an object.
type Change struct {
	Cluster   cluster.Place `json:"cluster" doc:"cluster of the object"`
	Kind      string        `json:"kind" doc:"kind of the object"`
	Namespace string        `json:"namespace,omitempty" doc:"namespace of the object; absent if its kind has none"`
	Name      string        `json:"name" doc:"name of the object"`
	Result    Result        `json:"result" doc:"what was done; with --dry-run, what would be done"`
}

// String returns the kind, the namespace and the name of the object.
func (c Change) String() string {
	return c.Kind + " " + strings.TrimPrefix(c.Namespace+"/"+c.Name, "/")
}

func changeOf(in *cluster.Cluster, object *unstructured.Unstructured, result Result) Change {
	return Change{
		Cluster: in.Place, Kind: object.GetKind(), Namespace: object.GetNamespace(), Name: object.GetName(),
		Result: result,
	}
}

// applier applies and deletes objects of a cluster, or determines with a dry run of the API server what would change.
type applier struct {
	*cluster.Cluster

	dryRun     bool
	changes    *[]Change       // of all clusters
	namespaces map[string]bool // that do not exist, and would be created
}

// applyAll applies objects in order.
func (a *applier) applyAll(ctx context.Context, objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		if err := a.apply(ctx, object); err != nil {
			return err
		}
	}
	return nil
}

// apply applies an object, and records the change. Only OpenShift has a namespace for dashboards.
func (a *applier) apply(ctx context.Context, object *unstructured.Unstructured) error {
	if object.GetKind() == "ConfigMap" {
		exists, err := a.Find(ctx, client.ObjectKey{Name: object.GetNamespace()}, &corev1.Namespace{})
		if err != nil || !exists {
			return err
		}
	}
	change, err := a.set(ctx, object)
	if err == nil {
		*a.changes = append(*a.changes, change)
	}
	return err
}

// set applies an object, which it sets to the object of the API server.
func (a *applier) set(ctx context.Context, object *unstructured.Unstructured) (Change, error) {
	change := changeOf(a.Cluster, object, Created)
	if a.namespaces[object.GetNamespace()] {
		return change, nil // the API server rejects a dry run in a namespace that does not exist
	}
	before := &unstructured.Unstructured{}
	before.SetGroupVersionKind(object.GroupVersionKind())
	exists, err := a.Find(ctx, client.ObjectKeyFromObject(object), before)
	if err != nil {
		return change, err
	}
	options := []client.ApplyOption{client.FieldOwner(fieldManager), client.ForceOwnership}
	if a.dryRun {
		options = append(options, client.DryRunAll)
	}
	if err := a.Apply(ctx, object, options...); err != nil {
		return change, err
	}
	switch {
	case exists && equality.Semantic.DeepEqual(settingsOf(before), settingsOf(object)):
		change.Result = Unchanged
	case exists:
		change.Result = Configured
	case a.dryRun && object.GetKind() == "Namespace":
		a.namespaces[object.GetName()] = true
	}
	return change, nil
}

// deleteAll deletes objects, the last one first, except those for which isExcluded returns true.
func (a *applier) deleteAll(
	ctx context.Context, objects []*unstructured.Unstructured, isExcluded func(*unstructured.Unstructured) bool,
) error {
	for _, object := range slices.Backward(objects) {
		if isExcluded(object) {
			continue
		}
		if err := a.delete(ctx, object); err != nil {
			return err
		}
	}
	return nil
}

// delete deletes an object, and records the change if the object exists.
func (a *applier) delete(ctx context.Context, object *unstructured.Unstructured) error {
	change := changeOf(a.Cluster, object, Deleted)
	options := []client.DeleteOption{client.PropagationPolicy(metav1.DeletePropagationBackground)}
	if a.dryRun {
		options = append(options, client.DryRunAll)
	}
	err := a.Delete(ctx, object, options...)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	*a.changes = append(*a.changes, change)
	return nil
}

// settingsOf returns the fields of an object that do not change without a change of its settings.
func settingsOf(object *unstructured.Unstructured) map[string]any {
	settings := object.DeepCopy()
	for _, field := range [][]string{
		{"metadata", "managedFields"},
		{"metadata", "resourceVersion"},
		{"metadata", "generation"},
		{"metadata", "creationTimestamp"},
		{"metadata", "uid"},
		{"status"},
	} {
		unstructured.RemoveNestedField(settings.Object, field...)
	}
	return settings.Object
}

// isOwn reports whether an object has the labels of the controller's manifests.
func isOwn(object client.Object) bool {
	labels := object.GetLabels()
	return labels["app.kubernetes.io/name"] == "hcp-node-admin" && labels["app.kubernetes.io/component"] == "controller"
}
