package kubelet

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// source is where a set of objects is listed and watched.
type source[T metav1.Object] struct {
	doing    string // "watching Node worker-1"
	selector string // field selector, so that the cost does not grow with the cluster
	list     func(context.Context, metav1.ListOptions) (items []T, version string, err error)
	watch    func(context.Context, metav1.ListOptions) (watch.Interface, error)
}

// follow shows see the objects, by name, as they are now, after every change,
// and at least every tick, until see says that it is done. It outlives an API
// server that goes away for a while; ctx bounds it, and its error is then
// ctx.Err().
func follow[T metav1.Object](ctx context.Context, a *api, log report.Log, s source[T], tick time.Duration, see func(map[string]T) (bool, error)) error {
	pause := pauses()
	for {
		var version string
		objects := map[string]T{}
		err := a.persist(ctx, log, s.doing, func(ctx context.Context) error {
			items, v, err := s.list(ctx, metav1.ListOptions{FieldSelector: s.selector})
			if err != nil {
				return err
			}
			version = v
			clear(objects)
			for _, item := range items {
				objects[item.GetName()] = item
			}
			return nil
		})
		if err != nil {
			return err
		}
		started := time.Now()
		done, err := watchFrom(ctx, a, s, version, objects, tick, see)
		if done || err != nil {
			return err
		}
		if time.Since(started) > time.Minute {
			pause = pauses()
		}
		if !sleep(ctx, pause.Step()) {
			return ctx.Err() //nolint:wrapcheck // the caller says what it waited for
		}
	}
}

// watchFrom shows see the objects and what becomes of them, until it is done
// or the watch breaks.
func watchFrom[T metav1.Object](ctx context.Context, a *api, s source[T], version string, objects map[string]T, tick time.Duration, see func(map[string]T) (bool, error)) (bool, error) {
	if done, err := see(objects); done || err != nil {
		return done, err
	}
	seconds := int64(300)
	watcher, err := s.watch(ctx, metav1.ListOptions{FieldSelector: s.selector, ResourceVersion: version, TimeoutSeconds: &seconds})
	if err != nil {
		if problem := explain(err, a.server); problem.permanent {
			return false, problem.failure(s.doing, err)
		}
		return false, nil // the next list tells why, and waits
	}
	defer watcher.Stop()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return false, ctx.Err() //nolint:wrapcheck // the caller says what it waited for
		case <-ticker.C:
		case event, open := <-watcher.ResultChan():
			if !open || !note(objects, event) {
				return false, nil
			}
		}
		if done, err := see(objects); done || err != nil {
			return done, err
		}
	}
}

// note takes an event into the objects; false means that the watch has lost
// its place and a new list is needed.
func note[T metav1.Object](objects map[string]T, event watch.Event) bool {
	object, fits := event.Object.(T)
	if !fits {
		return event.Type == watch.Bookmark
	}
	switch event.Type {
	case watch.Added, watch.Modified:
		objects[object.GetName()] = object
	case watch.Deleted:
		delete(objects, object.GetName())
	}
	return true
}
