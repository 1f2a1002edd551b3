// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

type object interface {
	runtime.Object
	metav1.Object
}

type objectList interface {
	runtime.Object
	metav1.ListInterface
}

// Resource reads and writes the objects of one kind, T, in one namespace or
// in all namespaces. L is the type of their list. Like a typed client of
// client-go, it prefers protobuf.
type Resource[T object, L objectList] struct {
	client    rest.Interface
	name      string // plural, as in the URL
	namespace string
	newObject func() T
	newList   func() L
}

func newResource[T, L any, PT interface {
	*T
	object
}, PL interface {
	*L
	objectList
}](client rest.Interface, name, namespace string) Resource[PT, PL] {
	return Resource[PT, PL]{
		client:    client,
		name:      name,
		namespace: namespace,
		newObject: func() PT { return new(T) },
		newList:   func() PL { return new(L) },
	}
}

func (r Resource[T, L]) prepare(request *rest.Request) *rest.Request {
	return request.UseProtobufAsDefault().NamespaceIfScoped(r.namespace, r.namespace != "").Resource(r.name)
}

func (r Resource[T, L]) send(ctx context.Context, request *rest.Request) (T, error) {
	received := r.newObject()
	err := do(ctx, request).Into(received)
	return received, err
}

// Get returns an object.
func (r Resource[T, L]) Get(ctx context.Context, name string) (T, error) {
	return r.send(ctx, r.prepare(r.client.Get()).Name(name))
}

// Find returns an object, or nil if it does not exist.
func (r Resource[T, L]) Find(ctx context.Context, name string) (T, error) {
	found, err := r.Get(ctx, name)
	if err == nil {
		return found, nil
	}
	if apierrors.IsNotFound(err) {
		err = nil
	}
	var none T
	return none, err
}

// List returns one page of the objects that options select.
func (r Resource[T, L]) List(ctx context.Context, options metav1.ListOptions) (L, error) {
	received := r.newList()
	err := do(ctx, r.prepare(r.client.Get()).VersionedParams(&options, parameterCodec)).Into(received)
	return received, err
}

// Watch returns the changes of the objects that options select. options must
// have TimeoutSeconds, after which the server ends the watch. The
// caller must stop the returned watch.
func (r Resource[T, L]) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	options.Watch = true
	return r.prepare(r.client.Get()).VersionedParams(&options, parameterCodec).
		Timeout(time.Duration(*options.TimeoutSeconds) * time.Second).Watch(ctx)
}

// Create creates an object and returns it as the server stored it.
func (r Resource[T, L]) Create(ctx context.Context, created T, options metav1.CreateOptions) (T, error) {
	return r.send(ctx, r.prepare(r.client.Post()).VersionedParams(&options, parameterCodec).Body(created))
}

// Update replaces an object, or its subresource, and returns it as the server
// stored it. It fails with a conflict if another client changed the object since
// it was read.
func (r Resource[T, L]) Update(ctx context.Context, updated T, subresources ...string) (T, error) {
	return r.send(ctx, r.prepare(r.client.Put()).Name(updated.GetName()).SubResource(subresources...).Body(updated))
}

// Patch changes fields of an object and returns it as the server stored it.
func (r Resource[T, L]) Patch(ctx context.Context, name string, kind types.PatchType, patch []byte) (T, error) {
	return r.send(ctx, r.prepare(r.client.Patch(kind)).Name(name).Body(patch))
}

// Delete deletes an object. Preconditions of options can select its UID.
func (r Resource[T, L]) Delete(ctx context.Context, name string, options metav1.DeleteOptions) error {
	return do(ctx, r.prepare(r.client.Delete()).Name(name).Body(&options)).Error()
}

// Items returns the objects of a list, which they share memory with.
func (r Resource[T, L]) Items(list L) []T {
	all := make([]T, 0, meta.LenList(list))
	_ = meta.EachListItem(list, func(item runtime.Object) error { // fails only for a type that is no list
		all = append(all, item.(T))
		return nil
	})
	return all
}

// Source selects objects by a field selector, for [Follow]. activity is the text
// for messages, such as "watching Node worker-1".
func (r Resource[T, L]) Source(activity, fieldSelector string) Source[T] {
	return Source[T]{
		Activity: activity,
		Selector: fieldSelector,
		List: func(ctx context.Context, options metav1.ListOptions) ([]T, metav1.ListMeta, error) {
			list, err := r.List(ctx, options)
			if err != nil {
				return nil, metav1.ListMeta{}, err
			}
			at := metav1.ListMeta{ResourceVersion: list.GetResourceVersion(), Continue: list.GetContinue()}
			return r.Items(list), at, nil
		},
		Watch: r.Watch,
	}
}
