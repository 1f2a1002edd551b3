// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Removal is the removal of one node.
type Removal struct {
	Node    string   `json:"node" doc:"name of the node"`
	Deleted []string `json:"deleted" doc:"kinds of the objects that were deleted"`
	Pods    int      `json:"pods,omitempty" doc:"number of pods that were deleted; absent without --lost, or if there were none"`
}

// removable contains the objects of a node.
type removable struct {
	name                string
	enrollment, account metav1.PartialObjectMetadata // without a UID if it does not exist
	node                corev1.Node
}

// Remove deletes the NodeEnrollments, the ServiceAccounts and the Nodes of nodes, unless another client has replaced
// them since they were read. It succeeds if they do not exist. Without force it deletes nothing if one of the Nodes is
// Ready. It passes each deleted object to deleted, and returns what it has deleted, also with an error.
func (c Client) Remove(
	ctx context.Context, names []string, force bool, deleted func(kind, node string),
) ([]Removal, error) {
	all, err := c.readRemovable(ctx, names)
	if err != nil {
		return nil, err
	}
	if !force {
		if err := refuseReady(all); err != nil {
			return nil, err
		}
	}
	return removeEach(all, deleted, func(one removable, _ *Removal, deleted func(kind string)) error {
		return c.removeOne(ctx, one, force, deleted)
	})
}

// removeEach calls remove for each node until it fails. It returns what was deleted, also with an error.
func removeEach(
	all []removable, deleted func(kind, node string),
	remove func(one removable, removal *Removal, deleted func(kind string)) error,
) ([]Removal, error) {
	var removals []Removal
	for _, one := range all {
		removal := Removal{Node: one.name}
		err := remove(one, &removal, func(kind string) {
			removal.Deleted = append(removal.Deleted, kind)
			deleted(kind, one.name)
		})
		removals = append(removals, removal)
		if err != nil {
			return removals, err
		}
	}
	return removals, nil
}

// readRemovable reads the objects of nodes.
func (c Client) readRemovable(ctx context.Context, names []string) ([]removable, error) {
	var all []removable
	for _, name := range lists.AppendMissing(nil, names...) {
		one := removable{name: name}
		one.enrollment.SetGroupVersionKind(enrollmentKind())
		one.account.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ServiceAccount"))
		for _, read := range []struct {
			key    client.ObjectKey
			object client.Object
		}{
			{client.ObjectKey{Name: name}, &one.enrollment},
			{client.ObjectKey{Namespace: v1alpha1.Namespace, Name: v1alpha1.ServiceAccount(name)}, &one.account},
			{client.ObjectKey{Name: name}, &one.node},
		} {
			if _, err := c.Find(ctx, read.key, read.object); err != nil {
				return nil, err
			}
		}
		all = append(all, one)
	}
	return all, nil
}

// refuseReady returns an error if a Node is Ready.
func refuseReady(all []removable) error {
	var causes []report.Problem
	for _, one := range all {
		if kube.IsReady(&one.node) {
			causes = append(causes, readyProblem(one.name))
		}
	}
	return report.FailWith(report.Refused, causes)
}

func readyProblem(name string) report.Problem {
	return report.Problem{
		Message: fmt.Sprintf("Node %s is Ready, and may run pods; --force removes it nevertheless", name),
		Remedy: report.Remedy("oc adm drain " + name + " --ignore-daemonsets --delete-emptydir-data\n" +
			"hcp-node-agent leave # on the host\n" +
			"hcp-node-admin remove " + name + " # when the Node is no longer Ready, about a minute later"),
	}
}

// removeOne deletes the objects of a node. The enrollment is first: without it, the controller approves no CSR of the
// node, so that the Node is not created again.
func (c Client) removeOne(ctx context.Context, one removable, force bool, deleted func(kind string)) error {
	if err := c.removeEnrollment(ctx, one, deleted); err != nil || one.node.UID == "" {
		return err
	}
	if err := c.removeNode(ctx, one, force); err != nil {
		return err
	}
	deleted(nodeKind().Kind)
	return nil
}

// removeEnrollment deletes the enrollment and the ServiceAccount of a node.
func (c Client) removeEnrollment(ctx context.Context, one removable, deleted func(kind string)) error {
	// the garbage collector deletes the ServiceAccount too, later
	for _, object := range []*metav1.PartialObjectMetadata{&one.enrollment, &one.account} {
		if object.UID == "" {
			continue
		}
		err := client.IgnoreNotFound(c.Delete(ctx, object, withUID(object.UID)))
		if apierrors.IsConflict(err) {
			return replaced(object.Kind, one.name)
		}
		if err != nil {
			return err
		}
		deleted(object.Kind)
	}
	return nil
}

// removeNode deletes the Node. Without force, it fails if the Node has become Ready meanwhile.
func (c Client) removeNode(ctx context.Context, one removable, force bool) error {
	uid := one.node.UID
	for {
		read := withUID(uid)
		if !force {
			read.ResourceVersion = &one.node.ResourceVersion
		}
		err := client.IgnoreNotFound(c.Delete(ctx, &one.node, read))
		if !apierrors.IsConflict(err) {
			return err
		}
		one.node = corev1.Node{}
		exists, err := c.Find(ctx, client.ObjectKey{Name: one.name}, &one.node)
		switch {
		case err != nil || !exists:
			return err
		case one.node.UID != uid:
			return replaced(nodeKind().Kind, one.name)
		}
		if err := refuseReady([]removable{one}); err != nil {
			return err
		}
	}
}

// replaced returns the error for an object of a node that is another one than was read.
func replaced(kind, node string) error {
	return report.Fail(report.Failed, report.Remedy("hcp-node-admin remove "+node+" # if the new object must be removed "+
		"as well"), "the %s of %s was replaced meanwhile, and is not deleted", kind, node)
}
