// SPDX-License-Identifier: Apache-2.0

// Package lostnodes reads and writes the list of nodes that were removed as lost. The list is a ConfigMap of the hosted
// cluster. A ValidatingAdmissionPolicy refuses the writes of the nodes in it.
package lostnodes

import (
	"context"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
)

const (
	// ConfigMap is the name of the list, which is in the namespace of the controller.
	ConfigMap = "lost-nodes"
	// Policy is the name of the ValidatingAdmissionPolicy, and of its binding.
	Policy = "hcp-node-admin-lost-nodes"
	// Taint is the key of the taint of a Node that exists although it is lost.
	Taint = "hcp-node-agent.io/lost"
)

// Key returns the namespace and the name of the list.
func Key() client.ObjectKey { return client.ObjectKey{Namespace: v1alpha1.Namespace, Name: ConfigMap} }

// Read returns the lost nodes: their names, and when and by which user they were removed. There are none without the
// ConfigMap.
func Read(ctx context.Context, reader client.Reader) (map[string]string, error) {
	var object corev1.ConfigMap
	if err := reader.Get(ctx, Key(), &object); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return object.Data, nil
}

// Client reads and writes objects.
type Client interface {
	client.Reader
	Create(ctx context.Context, object client.Object, options ...client.CreateOption) error
	Update(ctx context.Context, object client.Object, options ...client.UpdateOption) error
}

// Add adds nodes to the list, with an entry that states when and by which user they were removed. A node in the list
// keeps its entry.
func Add(ctx context.Context, c Client, names []string, entry string) error {
	return change(ctx, c, func(list map[string]string) {
		for _, name := range names {
			if _, isListed := list[name]; !isListed {
				list[name] = entry
			}
		}
	})
}

// Remove removes nodes from the list. It returns those that were in the list.
func Remove(ctx context.Context, c Client, names []string) (removed []string, err error) {
	err = change(ctx, c, func(list map[string]string) {
		removed = nil
		for _, name := range lists.AppendMissing(nil, names...) {
			if _, isListed := list[name]; isListed {
				removed = append(removed, name)
				delete(list, name)
			}
		}
	})
	return removed, err
}

// change changes the list, again if another client has changed it meanwhile.
func change(ctx context.Context, c Client, edit func(list map[string]string)) error {
	isChanged := func(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }
	return retry.OnError(retry.DefaultRetry, isChanged, func() error {
		key := Key()
		object := &corev1.ConfigMap{}
		err := c.Get(ctx, key, object)
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		list := map[string]string{}
		maps.Copy(list, object.Data)
		edit(list)
		switch {
		case maps.Equal(list, object.Data):
			return nil
		case err == nil:
			object.Data = list
			return c.Update(ctx, object)
		}
		return c.Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: key.Namespace, Name: key.Name, Labels: map[string]string{"app.kubernetes.io/name": "hcp-node-admin"},
			},
			Data: list,
		})
	})
}
