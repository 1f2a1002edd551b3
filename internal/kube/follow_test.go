// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

func nodeAt(name, version string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: version}}
}

// The requests to list and watch, and their resource versions, when watches end
// in different ways.
func TestFollowListsOnceAndResumesWatch(t *testing.T) {
	type event struct {
		kind   watch.EventType
		object apiruntime.Object
	}
	pages := map[string]struct {
		items []*corev1.Node
		at    metav1.ListMeta
	}{
		"": {
			[]*corev1.Node{nodeAt("ours-1", "1"), nodeAt("other-1", "2")},
			metav1.ListMeta{ResourceVersion: "10", Continue: "p2"},
		},
		"p2": {[]*corev1.Node{nodeAt("ours-2", "3")}, metav1.ListMeta{ResourceVersion: "10"}},
	}
	watches := [][]event{
		// then its timeout expires
		{
			{watch.Added, nodeAt("ours-3", "11")},
			{watch.Added, nodeAt("other-2", "12")},
			{watch.Bookmark, nodeAt("", "20")},
		},
		// it cannot be resumed
		{{watch.Deleted, nodeAt("ours-1", "21")}, {watch.Error, &metav1.Status{Code: 410}}},
		{{watch.Added, nodeAt("ours-9", "22")}},
	}
	var requested, seen []string
	s := Source[*corev1.Node]{
		Activity: "watching",
		Filter:   func(n *corev1.Node) bool { return strings.HasPrefix(n.Name, "ours") },
		List: func(_ context.Context, options metav1.ListOptions) ([]*corev1.Node, metav1.ListMeta, error) {
			requested = append(requested, "list "+options.Continue)
			page, known := pages[options.Continue]
			if !known || options.Limit == 0 {
				return nil, metav1.ListMeta{}, errors.New("no such page")
			}
			return page.items, page.at, nil
		},
		Watch: func(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
			requested = append(requested, "watch "+options.ResourceVersion)
			now := watches[0]
			watches = watches[1:]
			w := watch.NewFakeWithChanSize(len(now), false)
			for _, e := range now {
				w.Action(e.kind, e.object)
			}
			w.Stop()
			return w, nil
		},
	}
	a := &Conn{Endpoint: Endpoint{Server: "https://api.example.com:6443", Clock: &ServerClock{}}}
	err := Follow(waittest.Context(t), a, report.Log{}, s, time.Hour, func(found map[string]*corev1.Node) (bool, error) {
		var names []string
		for name := range found {
			names = append(names, name)
		}
		slices.Sort(names)
		seen = append(seen, strings.Join(names, " "))
		_, done := found["ours-9"]
		return done, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"list ", "list p2", "watch 10", "watch 20", "list ", "list p2", "watch 10"},
		requested); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	want := []string{
		"ours-1 ours-2", "ours-1 ours-2 ours-3", // the first watch
		"ours-1 ours-2 ours-3", "ours-2 ours-3", // the second, resumed
		"ours-1 ours-2", "ours-1 ours-2 ours-9", // after the new list
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("seen (-want +got):\n%s", diff)
	}
}
