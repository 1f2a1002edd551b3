// SPDX-License-Identifier: Apache-2.0

// Package csrcache limits the memory of a cache of CSRs to the metadata that the controllers read. Any user of a
// bootstrap kubeconfig can create any number of CSRs with large annotations.
package csrcache

import (
	"context"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
)

// NewInformer returns an informer. That of the metadata of CSRs lists them in small pages, and keeps little of each.
func NewInformer(
	from cache.ListerWatcher, object runtime.Object, resync time.Duration, indexers cache.Indexers,
) cache.SharedIndexInformer {
	metadata, isMetadata := object.(*metav1.PartialObjectMetadata)
	if isMetadata && metadata.GroupVersionKind().Group == certificatesv1.GroupName {
		from = pagedMetadata{cache.ToListerWatcherWithContext(from)}
	}
	return cache.NewSharedIndexInformer(from, object, resync, indexers)
}

// metadataPageSize is the number of CSRs in one page. The metadata of one can have half a megabyte.
const metadataPageSize = 20

// pagedMetadata lists metadata in pages, and shrinks each page before it reads the next one.
type pagedMetadata struct {
	cache.ListerWatcherWithContext
}

// List lists all objects.
func (p pagedMetadata) List(options metav1.ListOptions) (runtime.Object, error) {
	return p.ListWithContext(context.Background(), options)
}

// Watch starts a watch.
func (p pagedMetadata) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return p.WatchWithContext(context.Background(), options)
}

// ListWithContext lists all objects.
func (p pagedMetadata) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	options.ResourceVersion, options.ResourceVersionMatch = "", "" // a list from the API server's cache has no pages
	options.Limit = metadataPageSize
	all := &metav1.PartialObjectMetadataList{}
	for {
		page, err := p.ListerWatcherWithContext.ListWithContext(ctx, options)
		if err != nil {
			return nil, err
		}
		list, err := meta.ListAccessor(page)
		if err != nil {
			return nil, err
		}
		err = meta.EachListItem(page, func(object runtime.Object) error {
			shrunk := shrinkMetadata(object.(*metav1.PartialObjectMetadata))
			all.Items = append(all.Items, *shrunk)
			return nil
		})
		if err != nil {
			return nil, err
		}
		if options.Continue = list.GetContinue(); options.Continue == "" {
			all.ResourceVersion = list.GetResourceVersion()
			return all, nil
		}
	}
}

// IsWatchListSemanticsUnSupported makes the informer list instead of streaming the list: a stream has no pages.
func (pagedMetadata) IsWatchListSemanticsUnSupported() bool { return true }

// Shrink returns what the cache keeps of a CSR's metadata, and any other object unchanged. It is a transformation of a
// cache.
func Shrink(object any) (any, error) {
	if metadata, isMetadata := object.(*metav1.PartialObjectMetadata); isMetadata {
		return shrinkMetadata(metadata), nil
	}
	return object, nil
}

// maxTokenIDLength is the length of an ID that can be one of a join token.
const maxTokenIDLength = 32

// shrinkMetadata returns the metadata of a CSR that the controller reads.
func shrinkMetadata(object *metav1.PartialObjectMetadata) *metav1.PartialObjectMetadata {
	kept := &metav1.PartialObjectMetadata{TypeMeta: object.TypeMeta}
	kept.Name, kept.UID, kept.ResourceVersion = object.Name, object.UID, object.ResourceVersion
	kept.CreationTimestamp, kept.DeletionTimestamp = object.CreationTimestamp, object.DeletionTimestamp
	if id := object.Annotations[enrollment.AnnotationID]; id != "" && len(id) <= maxTokenIDLength {
		kept.Annotations = map[string]string{enrollment.AnnotationID: id}
	}
	return kept
}
