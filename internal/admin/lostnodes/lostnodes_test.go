// SPDX-License-Identifier: Apache-2.0

package lostnodes

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
)

func checkList(t *testing.T, c client.Client, want map[string]string) {
	t.Helper()
	got, err := Read(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lost nodes (-want +got):\n%s", diff)
	}
}

func TestAddAndRemove(t *testing.T) {
	c := fake.NewClientBuilder().Build()
	checkList(t, c, nil)
	if removed, err := Remove(t.Context(), c, []string{"a"}); err != nil || len(removed) > 0 {
		t.Errorf("without a list, %q is removed: %v", removed, err)
	}
	for _, entry := range []string{"first", "second"} { // the entry of a remains
		names := []string{"a"}
		if entry == "second" {
			names = []string{"a", "b"}
		}
		if err := Add(t.Context(), c, names, entry); err != nil {
			t.Fatal(err)
		}
	}
	checkList(t, c, map[string]string{"a": "first", "b": "second"})
	removed, err := Remove(t.Context(), c, []string{"a", "c", "a"})
	if err != nil || !slices.Equal(removed, []string{"a"}) {
		t.Errorf("removed %q: %v", removed, err)
	}
	checkList(t, c, map[string]string{"b": "second"})
}

// Nodes that another client adds meanwhile remain in the list.
func TestChangesOfAnotherClient(t *testing.T) {
	for name, others := range map[string][]map[string]string{
		"creation": {nil, {"other": "x"}}, "update": {{"other": "x"}, {"other": "x", "more": "y"}},
	} {
		t.Run(name, func(t *testing.T) {
			list := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace, Name: ConfigMap}}
			builder := fake.NewClientBuilder()
			if others[0] != nil {
				list.Data = others[0]
				builder.WithObjects(list)
			}
			isFirst := true
			set := func(ctx context.Context, c client.WithWatch) error {
				if isFirst = false; others[0] == nil {
					list.Data = others[1]
					return c.Create(ctx, list)
				}
				var current corev1.ConfigMap
				if err := c.Get(ctx, Key(), &current); err != nil {
					return err
				}
				current.Data = others[1]
				return c.Update(ctx, &current)
			}
			base := builder.Build()
			c := interceptor.NewClient(base, interceptor.Funcs{
				Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
					if isFirst {
						if err := set(ctx, c); err != nil {
							return err
						}
					}
					return c.Create(ctx, object, options...)
				},
				Update: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.UpdateOption) error {
					if isFirst {
						if err := set(ctx, c); err != nil {
							return err
						}
					}
					return c.Update(ctx, object, options...)
				},
			})
			if err := Add(t.Context(), c, []string{"a"}, "entry"); err != nil {
				t.Fatal(err)
			}
			want := map[string]string{"a": "entry"}
			for key, value := range others[1] {
				want[key] = value
			}
			checkList(t, base, want)
		})
	}
}

func TestUnreadableListIsAnError(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, ConfigMap, nil)
	c := interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return forbidden
		},
	})
	if _, err := Read(t.Context(), c); !apierrors.IsForbidden(err) {
		t.Errorf("Read() = %v", err)
	}
	if err := Add(t.Context(), c, []string{"a"}, ""); !apierrors.IsForbidden(err) {
		t.Errorf("Add() = %v", err)
	}
}
