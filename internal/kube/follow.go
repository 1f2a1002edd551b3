// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/wait"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Source defines how a set of objects is listed and watched.
type Source[T metav1.Object] struct {
	Activity string       // for messages: "watching Node worker-1"
	Selector string       // field selector, so that the cost does not grow with the cluster
	Filter   func(T) bool // filters what the selector returns; nil keeps all
	List     func(context.Context, metav1.ListOptions) (items []T, at metav1.ListMeta, err error)
	Watch    func(context.Context, metav1.ListOptions) (watch.Interface, error)
}

// pageSize is the number of objects in one response. It limits memory use in
// large clusters.
const pageSize = 100

// ListAll lists the objects page by page and returns the resource version from
// which they can be watched.
func (s Source[T]) ListAll(ctx context.Context) (objects map[string]T, version string, err error) {
	objects = map[string]T{}
	options := metav1.ListOptions{FieldSelector: s.Selector, Limit: pageSize}
	for {
		items, at, err := s.List(ctx, options)
		if err != nil {
			return nil, "", err
		}
		for _, item := range items {
			if s.Filter == nil || s.Filter(item) {
				objects[item.GetName()] = item
			}
		}
		if at.Continue == "" {
			return objects, at.ResourceVersion, nil
		}
		options.Continue = at.Continue
	}
}

// Follow passes the current objects, by name, to observe after every change and at
// least every tick, until observe returns true or an error. It lists them once, and
// again only if the watch cannot be resumed. Interruptions of the API server
// are retried. When ctx ends, Follow returns ctx.Err().
func Follow[T metav1.Object](ctx context.Context, connection *Conn, log report.Log, s Source[T], tick time.Duration,
	observe func(map[string]T) (bool, error),
) error {
	pause := wait.NewBackoff()
	var version string // resource version to watch from; "" if a list is needed
	var objects map[string]T
	for {
		if version == "" {
			err := connection.Retry(ctx, log, s.Activity, func() (err error) {
				objects, version, err = s.ListAll(ctx)
				return err
			})
			if err != nil {
				return err
			}
		}
		started := time.Now()
		var done bool
		var err error
		if done, version, err = watchFrom(ctx, connection, s, version, objects, tick, observe); done || err != nil {
			return err
		}
		if time.Since(started) > time.Minute {
			pause = wait.NewBackoff()
		}
		if wait.Sleep(ctx, pause.Step()) != nil {
			return ctx.Err()
		}
	}
}

// watchFrom passes the objects and their changes to observe until observe is done or
// the watch ends. It returns the version from which the next watch can resume,
// or "" if a new list is needed.
func watchFrom[T metav1.Object](
	ctx context.Context, connection *Conn, s Source[T], version string, objects map[string]T, tick time.Duration,
	observe func(map[string]T) (bool, error),
) (bool, string, error) {
	if done, err := observe(objects); done || err != nil {
		return done, "", err
	}
	seconds := int64(300)
	watcher, err := s.Watch(ctx, metav1.ListOptions{
		FieldSelector:       s.Selector,
		ResourceVersion:     version,
		TimeoutSeconds:      &seconds,
		AllowWatchBookmarks: true,
	})
	if err != nil {
		if problem := connection.Explain(ctx, err); !problem.Temporary {
			return false, "", problem.Failure(s.Activity)
		}
		return false, "", nil // the next list reports the error and retries
	}
	defer watcher.Stop()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return false, "", ctx.Err()
		case <-ticker.C:
		case event, open := <-watcher.ResultChan():
			if !open {
				return false, version, nil
			}
			changed, at := s.applyEvent(objects, event)
			if at == "" {
				return false, "", nil
			}
			if version = at; !changed {
				continue
			}
		}
		if done, err := observe(objects); done || err != nil {
			return done, "", err
		}
	}
}

// applyEvent applies an event to objects. It reports whether objects changed, and
// their resource version; "" means that the watch cannot be resumed and a new
// list is needed.
func (s Source[T]) applyEvent(objects map[string]T, event watch.Event) (changed bool, version string) {
	object, fits := event.Object.(T)
	if !fits {
		return false, ""
	}
	version = object.GetResourceVersion()
	if event.Type == watch.Bookmark || (s.Filter != nil && !s.Filter(object)) {
		return false, version
	}
	switch event.Type {
	case watch.Added, watch.Modified:
		objects[object.GetName()] = object
	case watch.Deleted:
		delete(objects, object.GetName())
	}
	return true, version
}
